#include "coarray/record.hpp"

#include <gtest/gtest.h>

#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"

namespace sill::coarray {
namespace {

using storage::Record;

const CoarrayRecord sample{"a \"program\"", "12ab", "m::x\\\n", "2.1", 4096, 3, 4, CoarrayRecord::State::kept};

CoarrayRecord at(const std::string& name, std::uint64_t offset, std::uint64_t size) {
  CoarrayRecord record = sample;
  record.name = name;
  record.offset = offset;
  record.size = size;
  return record;
}

Record with(const std::string& section, const std::string& json) {
  Record record(0600);
  record.put(section, json);
  return record;
}

TEST(CoarrayRecord, IsReadAsItWasWritten) {
  for (const CoarrayRecords& coarrays :
       {CoarrayRecords{sample}, CoarrayRecords{at("m::a", 0, 10), at("b", 8192, 20)}, CoarrayRecords{}}) {
    Record record(0600);
    put_coarrays(record, coarrays);
    const auto found = coarrays_in(record);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found.value(), coarrays);
  }
}

// As Sill 0.1 left them.
TEST(CoarrayRecord, OfFormat1IsReadAndReplaced) {
  const std::string begin = R"({"sill": 1, "job": "7", "created": "2026-11-20T11:32:38.250Z", "window": "0", )"
                            R"("unlink": false, "segments": [{"rank": 2, "offset": 0, "size": 4096}], )";
  const std::string one = R"({"program": "a \"program\"", "build": "12ab", "name": "m::x\\\u000a", "team": "2.1", )"
                          R"("size": 4096, "image": 3, "images": 4, "state": "kept")";
  auto record = Record::parse(begin + R"("coarray": )" + one + "}}\n");
  ASSERT_TRUE(record.ok()) << record.status().message();
  EXPECT_EQ(coarrays_in(record.value()).value(), CoarrayRecords{sample});
  CoarrayRecord changed = sample;
  changed.state = CoarrayRecord::State::freed;
  put_coarrays(record.value(), {changed});
  const auto again = Record::parse(record.value().text());
  EXPECT_EQ(coarrays_in(again.value()).value(), CoarrayRecords{changed});
  record = Record::parse(begin + R"("coarrays": [)" + one + R"(, "offset": 8192}]})" + "\n");
  ASSERT_TRUE(record.ok()) << record.status().message();
  EXPECT_EQ(coarrays_in(record.value()).value(), CoarrayRecords{at(sample.name, 8192, 4096)});
}

TEST(CoarrayRecord, WhatIsNoneIsRefused) {
  Record good(0600);
  put_coarrays(good, {sample});
  const std::string list = *good.section("coarrays");
  const auto changed = [&](const std::string& from, const std::string& to) {
    const std::size_t where = list.find(from);
    EXPECT_NE(where, std::string::npos) << from;
    return std::string(list).replace(where, from.size(), to);
  };
  for (const std::string& bad :
       {std::string("[7]"), std::string("[{}]"), std::string("{\"a\":1}"), changed("kept", "other"),
        changed("4096", "-1"), changed("\"images\":4", "\"images\":0"), changed("\"name\"", "\"nime\""),
        changed("4096", "99999999999999999999999"), changed("\"state\"", "\"offset\":\"0\",\"state\""),
        list.substr(0, list.size() - 1) + "," + list.substr(1)}) {
    const auto found = coarrays_in(with("coarrays", bad));
    EXPECT_EQ(found.status().cause(), Cause::bad_file) << bad;
    EXPECT_FALSE(found.status().message().empty());
  }
  EXPECT_EQ(coarrays_in(with("window", "{}")).status().cause(), Cause::bad_file);
}

TEST(CoarrayRecord, ANameThatIsNotUtf8ComesBackTheSame) {
  CoarrayRecord odd = sample;
  odd.program = "caf\xe9";
  Record record(0600);
  put_coarrays(record, {odd});
  EXPECT_EQ(coarrays_in(record).value().front(), odd.as_written());
  EXPECT_EQ(sample.as_written(), sample);
}

TEST(CoarrayRecord, ThePlaceOfANewOneMeetsNoOther) {
  const CoarrayRecords two = {at("b", 8192, 20), at("a", 0, 10)};
  EXPECT_EQ(free_offset({}, 100, 4096, 0), 0u);
  EXPECT_EQ(free_offset(two, 4096, 4096, 0), 4096u) << "between them";
  EXPECT_EQ(free_offset(two, 4097, 4096, 0), 12288u) << "behind them";
  EXPECT_EQ(free_offset(two, 1, 1 << 21, 0), 1u << 21);
  EXPECT_EQ(free_offset(two, 1, 4096, 4097), 12288u);
}

TEST(CoarrayRecord, BesideAFileThatIsNoCoarraysThereIsNone) {
  const test::Folder folder;
  const storage::File file = test::open_file(folder / "w");
  EXPECT_FALSE(read_coarrays(file.path()).value()) << "no record is no error";
  EXPECT_EQ(drop_coarray(file, "x").cause(), Cause::no_such_file);
  ASSERT_TRUE(with("window", "{}").write(file, false).ok());
  EXPECT_EQ(read_coarrays(file.path()).status().cause(), Cause::bad_file);
  const Status status = drop_coarray(file, "x");
  EXPECT_EQ(status.cause(), Cause::bad_file);
  EXPECT_NE(status.message().find("w.sill"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace sill::coarray
