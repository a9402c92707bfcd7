import Foundation

/// The statements that a user has typed, kept in a file that only they can read.
struct PromptHistory {
  /// So many are kept.
  static let capacity = 1_000

  private(set) var lines: [String]
  private let path: String?

  /// Reads the file that `DUNLIN_HISTORY` names, or `.dunlin_history` in the user's home directory.
  ///
  /// With an empty name, nothing is kept.
  static func ofUser() -> PromptHistory {
    let environment = ProcessInfo.processInfo.environment
    let path = environment["DUNLIN_HISTORY"] ?? environment["HOME"].map { $0 + "/.dunlin_history" }
    return PromptHistory(path: path.flatMap { $0.isEmpty ? nil : $0 })
  }

  /// - Parameter path: The file; `nil` for none.
  init(path: String?) {
    self.path = path
    let text = path.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? ""
    lines = text.split(separator: "\n").suffix(Self.capacity).map(String.init)
  }

  /// Remembers a statement as one line; one that was just typed is there already.
  mutating func add(_ statement: String) {
    let line = statement.split(whereSeparator: \.isNewline).joined(separator: " ")
    guard !line.isEmpty, lines.last != line else { return }
    lines = (lines + [line]).suffix(Self.capacity)
    guard let path else { return }
    let former = umask(0o077)
    defer { umask(former) }
    // Whoever cannot keep a history can go on without.
    try? (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
  }
}
