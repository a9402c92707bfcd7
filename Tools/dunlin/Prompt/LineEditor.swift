import Foundation

/// One line that is being typed, and what keys make of it; it knows nothing of a terminal.
struct LineEditor {
  /// What a key leads to beside the line's new look.
  enum Outcome: Hashable {
    case goesOn
    case entered(String)
    /// Control-C: the user wants none of it.
    case abandoned
    /// Control-D on an empty line.
    case ended
    case clearsScreen
  }

  private(set) var line: [Character] = []
  /// The place of the cursor, in characters.
  private(set) var cursor = 0
  /// What was cut last.
  private var cut: [Character] = []
  private let history: [String]
  /// The place in the history; behind its end stands what was being typed.
  private var place: Int
  private var draft: [Character] = []
  /// What may stand in place of the word before the cursor, after what stands before the word.
  private let complete: (_ word: String, _ before: String) -> [String]

  /// - Parameters:
  ///   - history: Earlier lines, the newest last.
  ///   - complete: Gives what a word may become, after what stands before it on the line.
  init(
    history: [String], complete: @escaping (_ word: String, _ before: String) -> [String] = { _, _ in [] }
  ) {
    self.history = history
    self.complete = complete
    place = history.count
  }

  var text: String { String(line) }

  mutating func press(_ key: Key) -> Outcome {
    switch key {
    case .text(let text): insert(text)
    case .enter: return .entered(text)
    case .control("c"): return .abandoned
    case .control("d"):
      if line.isEmpty { return .ended }
      remove(cursor..<min(cursor + 1, line.count))
    case .control("l"): return .clearsScreen
    case .tab: completeWord()
    case .escape, .alt("u"), .alt("l"): break
    default: move(or: key)
    }
    return .goesOn
  }

  private mutating func move(or key: Key) {
    switch key {
    case .left, .control("b"): cursor = max(0, cursor - 1)
    case .right, .control("f"): cursor = min(line.count, cursor + 1)
    case .home, .control("a"): cursor = 0
    case .end, .control("e"): cursor = line.count
    case .wordLeft, .alt("b"): cursor = wordStart
    case .wordRight, .alt("f"): cursor = wordEnd
    case .up, .control("p"): recall(place - 1)
    case .down, .control("n"): recall(place + 1)
    default: change(by: key)
    }
  }

  private mutating func change(by key: Key) {
    switch key {
    case .backspace, .control("h"): remove(max(0, cursor - 1)..<cursor)
    case .delete: remove(cursor..<min(cursor + 1, line.count))
    case .control("k"): cutOut(cursor..<line.count)
    case .control("u"): cutOut(0..<cursor)
    case .control("w"): cutOut(wordStart..<cursor)
    case .alt("d"): cutOut(cursor..<wordEnd)
    case .control("y"): insert(String(cut))
    case .control("t"): exchange()
    default: break
    }
  }

  private mutating func insert(_ text: String) {
    // Characters may join with those beside them, so the cursor is counted anew.
    let rest = line[cursor...]
    line = Array(String(line[..<cursor]) + text)
    cursor = line.count
    line = Array(String(line) + String(rest))
    cursor = min(cursor, line.count)
  }

  private mutating func remove(_ range: Range<Int>) {
    line.removeSubrange(range)
    cursor = range.lowerBound
  }

  private mutating func cutOut(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    cut = Array(line[range])
    remove(range)
  }

  private mutating func exchange() {
    guard cursor > 0, line.count > 1 else { return }
    cursor = min(cursor, line.count - 1)
    line.swapAt(cursor - 1, cursor)
    cursor += 1
  }

  private var wordStart: Int {
    var place = cursor
    while place > 0, !line[place - 1].isOfWord { place -= 1 }
    while place > 0, line[place - 1].isOfWord { place -= 1 }
    return place
  }

  private var wordEnd: Int {
    var place = cursor
    while place < line.count, !line[place].isOfWord { place += 1 }
    while place < line.count, line[place].isOfWord { place += 1 }
    return place
  }

  private mutating func recall(_ new: Int) {
    guard (0...history.count).contains(new) else { return }
    if place == history.count { draft = line }
    place = new
    line = new == history.count ? draft : Array(history[new])
    cursor = line.count
  }

  /// Completes the word before the cursor as far as all that it may become agree, capitals included.
  private mutating func completeWord() {
    var start = cursor
    while start > 0, line[start - 1].isOfWord || line[start - 1] == "." && start == 1 { start -= 1 }
    guard start < cursor else { return }
    let word = String(line[start..<cursor])
    let candidates = complete(word, String(line[..<start]))
    guard let first = candidates.first else { return }
    let common = candidates.dropFirst().reduce(first) { $0.commonPrefix(with: $1) }
    guard common.count >= word.count else { return }
    remove(start..<cursor)
    insert(candidates.count == 1 ? common + " " : common)
  }
}

extension Character {
  fileprivate var isOfWord: Bool { isLetter || isNumber || self == "_" }
}
