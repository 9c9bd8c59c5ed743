/* A path of thousands of characters: the message that all ranks get still ends with the reason. */
#include "check.h"

int main(int argc, char** argv) {
  static char rule[4000] = "alloc_type=storage,storage_alloc_filename=/no/such/folder";
  while (strlen(rule) < 3000) strcat(rule, "/and-one-below-it");
  setenv("SILL_WINDOWS", rule, 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  void* base = NULL;
  MPI_Win win;
  const int code = MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  CHECK_EQ(class_of(code), MPI_ERR_NO_SUCH_FILE);
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  CHECK_SAY(strstr(text, "/and-one-below-it: No such file or directory"), "%s", text);
  CHECK_SAY(strstr(text, "storage_alloc_filename=/no"), "%s", text);
  MPI_Finalize();
  return 0;
}
