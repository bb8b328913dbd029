// The two streams of the program: results go to standard output, all else to standard error.
//
// Names, messages and records come from files, stores and servers: what a terminal would act on is
// shown as text (base/safe_text.h), and secrets are not repeated.
#pragma once

#include <string_view>

namespace meanwhile::cli {

// Standard output is not read any more (`| head`). Ends the program, quietly and well.
struct ReaderGone {};

class Console {
 public:
  Console();

  // Says nothing but errors from here on.
  void be_quiet() { quiet_ = true; }
  bool quiet() const { return quiet_; }
  // Gives no results either, only errors: another process does.
  void be_mute() { quiet_ = mute_ = true; }
  // Whether standard error is a terminal.
  bool terminal() const { return terminal_; }
  // Columns of that terminal, 80 when it does not say.
  int width() const;

  // A part of the result: its very bytes, unless standard output is a terminal. THROWS ReaderGone;
  // Error(kSystem) when it cannot be written.
  void out(std::string_view text);
  // As out(), for text that people read: escaped wherever it goes.
  void show(std::string_view text);
  // Brings everything given to out() to its reader. THROWS as out().
  void flush();

  // To the user; the caller ends lines.
  void say(std::string_view text);
  // As say(), with escapes of the program's own.
  void draw(std::string_view text);
  // Parameters in the message (base/parameter_name.h) are shown as flags.
  void error(std::string_view message);

 private:
  bool quiet_ = false, mute_ = false;
  bool terminal_, out_terminal_;
};

}  // namespace meanwhile::cli
