#include "meanwhile/base/safe_text.h"

#include <gtest/gtest.h>

#include <string>

namespace meanwhile::base {
namespace {

TEST(Redacted, SignaturesAndKeysAreBlottedOut) {
  EXPECT_EQ(redacted("https://x.blob/c?sv=1&sig=SECRET&se=2"),
            "https://x.blob/c?sv=1&sig=***&se=2");
  EXPECT_EQ(redacted("SIG=Ab%2F and sig%3DAb"), "SIG=*** and sig%3D***");
  EXPECT_EQ(redacted("AccountName=a;AccountKey=c2VjcmV0==;x"), "AccountName=a;AccountKey=***;x");
  EXPECT_EQ(redacted("SharedKey acc:AbC= \n"), "SharedKey *** \n");
  EXPECT_EQ(redacted("azure://acct:KE/Y==@c/p is"), "azure://***@c/p is");
  EXPECT_EQ(redacted("'https://me:pass@host/x' 'ftp://a:b@c'"),
            "'https://***@host/x' 'ftp://***@c'");
}

TEST(Redacted, OtherTextStays) {
  for (const char* text : {"signal=1", "azure://acct/c/p", "http://127.0.0.1:10000/acc", "a@b.c",
                           "points.csv: line 7", "file:///data/x@y"}) {
    EXPECT_EQ(redacted(text), text);
  }
}

TEST(Printable, WhatATerminalActsOnBecomesText) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable("one\rtwo\b\x7f"), "one\\x0dtwo\\x08\\u007f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");  // CSI in one character
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");  // and in one byte
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "cba"),
            "\\u202ecba");  // right to left
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(Printable, LinesAndTextOfAnyScriptStay) {
  for (const char* text : {"", "a\tb\nc\n", "Bösen, Ł, 日本, 🙂", "\\x1b"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, BytesThatAreNoUtf8AreShownOneByOne) {
  EXPECT_EQ(printable("\xff"
                      "a\xc3"),
            "\\xffa\\xc3");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
}

}  // namespace
}  // namespace meanwhile::base
