import Foundation

/// The terminal that a user types into, while each key is read at once.
final class Terminal {
  private var former: termios
  private var decoder = KeyDecoder()
  /// Pressed, or pasted, before what they belong to was asked for.
  private var waiting: ArraySlice<Key> = []

  /// - Returns: `nil` if standard input or standard error is not a terminal, or the terminal cannot move its
  ///   cursor.
  init?() {
    let kind = ProcessInfo.processInfo.environment["TERM"] ?? ""
    guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1, !kind.isEmpty, kind != "dumb" else {
      return nil
    }
    former = termios()
    guard tcgetattr(STDIN_FILENO, &former) == 0 else { return nil }
  }

  /// The columns of the terminal on a descriptor; 80 where it does not say.
  static func width(of descriptor: Int32) -> Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// The lines of the terminal on a descriptor; 24 where it does not say.
  static func height(of descriptor: Int32) -> Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return 24 }
    return Int(size.ws_row)
  }

  /// Reads a line, key by key.
  ///
  /// - Returns: What the line came to; `.ended` at the end of the input.
  func read(_ prompt: String, _ editor: LineEditor) -> LineEditor.Outcome {
    var editor = editor
    var raw = former
    cfmakeraw(&raw)
    raw.c_oflag = former.c_oflag
    guard tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0 else { return .ended }
    defer {
      tcsetattr(STDIN_FILENO, TCSADRAIN, &former)
      write("\n")
    }
    while true {
      while let key = waiting.popFirst() {
        switch editor.press(key) {
        case .goesOn: break
        case .clearsScreen: write("\u{1B}[H\u{1B}[2J")
        case let outcome:
          show(prompt, editor)
          return outcome
        }
      }
      show(prompt, editor)
      guard let keys = nextKeys() else { return .ended }
      waiting += keys
    }
  }

  /// The keys that are pressed next; `nil` at the end of the input.
  private func nextKeys() -> [Key]? {
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = bytes.withUnsafeMutableBytes { Foundation.read(STDIN_FILENO, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR { return [] }
    guard count > 0 else { return nil }
    return decoder.decode(Array(bytes.prefix(count)))
  }

  /// Draws the line; one that is wider than the terminal shows the part around the cursor.
  private func show(_ prompt: String, _ editor: LineEditor) {
    let room = max(1, Self.width(of: STDERR_FILENO) - prompt.columns - 1)
    var first = 0
    while editor.line[first..<editor.cursor].reduce(0, { $0 + $1.columns }) >= room { first += 1 }
    var (shown, used) = ("", 0)
    for character in editor.line[first...] {
      guard used + character.columns <= room else { break }
      shown.append(character)
      used += character.columns
    }
    let left = prompt.columns + editor.line[first..<editor.cursor].reduce(0) { $0 + $1.columns }
    write("\r\u{1B}[K\(prompt)\(shown.printable)\r" + (left > 0 ? "\u{1B}[\(left)C" : ""))
  }

  private func write(_ text: String) {
    try? RawFile(STDERR_FILENO, name: "standard error").write(Array(text.utf8))
  }
}
