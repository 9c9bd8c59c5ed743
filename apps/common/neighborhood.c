#include "neighborhood.h"

#include <sill/sill.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"

void app_folder(const char* pattern, char* to, size_t room) {
  size_t used = 0;
  for (const char* at = pattern; *at != '\0'; at++) {
    char text[256] = {*at, '\0'};
    if (*at == '%') {
      at++;
      if (*at == 'h' && gethostname(text, sizeof text - 1) != 0) app_fail("gethostname: no host name");
      if (*at == 'r') snprintf(text, sizeof text, "%d", app_rank());
      if (*at != 'h' && *at != 'r' && *at != '%') app_fail("%s: %% wants h, r or %% behind it", pattern);
    }
    size_t length = strlen(text);
    if (used + length >= room) app_fail("%s: the path is too long", pattern);
    memcpy(to + used, text, length);
    used += length;
  }
  to[used] = '\0';
}

MPI_Comm app_neighborhood(MPI_Comm comm, const char* folder, const char* method) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm neighborhood = MPI_COMM_NULL;
  char* hint = app_plain(folder);
  APP_TRY(MPI_Info_create(&info));
  APP_TRY(MPI_Info_set(info, SILL_NBHD_DIRNAME, hint));
  if (method != NULL) APP_TRY(MPI_Info_set(info, SILL_NBHD_METHOD, method));
  APP_TRY(MPI_Comm_split_type(comm, SILL_COMM_TYPE_NEIGHBORHOOD, app_rank_in(comm), info, &neighborhood));
  APP_TRY(MPI_Info_free(&info));
  free(hint);
  return neighborhood;
}
