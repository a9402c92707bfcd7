import CRDTCore
import Synchronization
import TestKit
import Testing

@testable import dunlin

/// The parts of the prompt that know nothing of a terminal.
@Suite struct PromptPartsTests {
  private func keys(_ bytes: String...) -> [Key] {
    var decoder = KeyDecoder()
    return bytes.flatMap { decoder.decode(Array($0.utf8)) }
  }

  @Test func `bytes of a terminal are keys, in whatever pieces they come`() {
    #expect(keys("aé\u{1F600}") == [.text("a"), .text("é"), .text("\u{1F600}")])
    #expect(keys("\u{1B}[", "A\u{1B}OB\u{1B}[1;5C") == [.up, .down, .wordRight])
    #expect(
      keys("\u{1B}[3~\u{1B}[H\u{1B}[4~\u{7F}\u{3}") == [.delete, .home, .end, .backspace, .control("c")])
    #expect(keys("\u{1B}b\u{1B}[99z") == [.alt("b")])
    var decoder = KeyDecoder()
    let pieces = Array("é".utf8)
    #expect(decoder.decode([pieces[0]]).isEmpty)
    #expect(decoder.decode([pieces[1]]) == [.text("é")])
    // What is no UTF-8 is left out, and does not hold up what follows.
    #expect(decoder.decode([0xFF, 0xC3, 0x28]) == [.text("(")])
  }

  private func typed(
    _ keys: [Key], history: [String] = [], complete: @escaping (String, String) -> [String] = { _, _ in [] }
  ) -> LineEditor {
    var editor = LineEditor(history: history, complete: complete)
    for key in keys { expectEqual(editor.press(key), .goesOn) }
    return editor
  }

  private func text(_ text: String) -> [Key] { text.map { .text(String($0)) } }

  @Test func `a line is edited as in a shell`() {
    #expect(typed(text("SELECT") + [.home, .text("x"), .control("e"), .text("y")]).text == "xSELECTy")
    #expect(typed(text("one two") + [.control("w")]).text == "one ")
    #expect(typed(text("one two") + [.control("w"), .home, .control("y")]).text == "twoone ")
    #expect(typed(text("one two") + [.wordLeft, .control("k")]).text == "one ")
    #expect(typed(text("one") + [.left, .control("u")]).text == "e")
    #expect(typed(text("ab") + [.control("t")]).text == "ba")
    #expect(typed(text("abc") + [.home, .delete, .right, .backspace]).text == "c")
    // An accent that comes alone joins the letter before the cursor.
    let joined = typed(text("e") + [.text("\u{301}")])
    #expect(joined.line.count == 1 && joined.cursor == 1)
    // Keys at either end do nothing.
    #expect(
      typed([.backspace, .delete, .left, .wordLeft, .control("k"), .control("t"), .up, .down]).text == "")
  }

  @Test func `what was typed stays while earlier lines are looked at`() {
    let editor = typed(text("new") + [.up, .up, .up, .down, .down, .down], history: ["first", "second"])
    #expect(editor.text == "new")
    #expect(typed([.up], history: ["first", "second"]).text == "second")
    #expect(typed([.up, .up, .text("!")], history: ["first", "second"]).text == "first!")
  }

  @Test func `a word is completed as far as all candidates agree`() {
    let words = ["cars", "carports", "SELECT", "COST", "Cost", "costOnly"]
    func candidates(_ word: String, _ before: String) -> [String] {
      words.filter { $0.lowercased().hasPrefix(word.lowercased()) }
    }
    #expect(typed(text("ca") + [.tab], complete: candidates).text == "car")
    #expect(typed(text("x FROM cars") + [.tab], complete: candidates).text == "x FROM cars ")
    #expect(typed(text("sel") + [.tab], complete: candidates).text == "SELECT ")
    #expect(typed(text("zz") + [.tab], complete: candidates).text == "zz")
    // What is typed keeps its capitals where the candidates differ in theirs.
    #expect(typed(text("co") + [.tab], complete: candidates).text == "co")
    #expect(typed(text("Co") + [.tab], complete: candidates).text == "Co")
  }

  @Test(
    arguments: [
      ("", "sel", ["SELECT"]), ("", ".sch", [".schema"]), (".mode ", "t", ["table"]),
      ("SELECT * FROM ", "O", ["orders", "owners"]), ("SELECT * FROM ", "or", ["orders"]),
      (".schema ", "ow", ["owners"]), ("SELECT ", "or", ["orderNumber", "orders", "originCity"]),
      ("SELECT ", "OR", ["ORDER"]), ("SELECT ", "ord", ["orderNumber", "orders"]),
      ("SELECT a FROM orders\n", "wh", ["WHERE"]), ("SELECT a FROM orders\n", "W", ["WHERE"]),
      ("SELECT orders.", "o", ["orderNumber", "originCity"]), ("SELECT ", "ORI", ["originCity"]),
      ("SELECT ", "x", []), ("SELECT ", "gro", ["`group`"]), ("SELECT ", "my", ["`my-field`"]),
      ("SELECT `", "my", ["my-field`"]),
    ] as [(String, String, [String])])
  func `words of the language and names are not mixed`(
    _ before: String, _ word: String, _ expected: [String]
  ) {
    let completion = Completion(SchemaSource())
    #expect(completion.candidates(for: word, after: before) == expected)
  }

  @Test func `names are learnt when they are wanted, and again after a statement that writes`() {
    let source = SchemaSource()
    let completion = Completion(source)
    _ = completion.candidates(for: "sel", after: "")
    #expect(source.asked == 0)
    for _ in 1...3 { _ = completion.candidates(for: "or", after: "SELECT ") }
    #expect(source.asked == 1)
    source.collection = "novelties"
    completion.forgetNames()
    #expect(completion.candidates(for: "no", after: "SELECT * FROM ") == ["novelties"])
    #expect(source.asked == 2)
  }

  @Test func `some keys end a line`() {
    var editor = typed(text("abc"))
    #expect(editor.press(.enter) == .entered("abc"))
    #expect(editor.press(.control("c")) == .abandoned)
    #expect(editor.press(.control("d")) == .goesOn)
    var empty = typed([])
    #expect(empty.press(.control("d")) == .ended)
  }

  @Test(
    arguments: [
      (["SELECT 1; SELECT 2;"], ["SELECT 1", "SELECT 2"]),
      (["SELECT ';' AS a,", "`;` AS b;"], ["SELECT ';' AS a,\n`;` AS b"]),
      (["SELECT 'it\\';' FROM x;"], ["SELECT 'it\\';' FROM x"]),
      (["SELECT 1 -- not this;", "FROM x;"], ["SELECT 1 -- not this;\nFROM x"]),
      (["SELECT /* ; */ 1;;; ;"], ["SELECT /* ; */ 1"]),
      (["SELECT '", ";", "';"], ["SELECT '\n;\n'"]),
      (["SELECT 1"], []),
    ] as [([String], [String])])
  func `a semicolon ends a statement unless it is quoted`(_ lines: [String], _ expected: [String]) {
    var text = StatementText()
    var found: [String] = []
    for line in lines {
      text.append(line: line)
      while let statement = text.takeEnded() { found.append(statement.text) }
    }
    #expect(found == expected)
  }

  @Test func `a statement knows where it begins`() {
    var text = StatementText()
    var found: [StatementText.Place] = []
    for line in ["", "  SELECT 'é' ; ;SELECT", "  2;", "SELECT", "3"] {
      text.append(line: line)
      while let statement = text.takeEnded() { found.append(statement.place) }
    }
    if let last = text.takeAll() { found.append(last.place) }
    #expect(
      found == [.init(line: 2, column: 3), .init(line: 2, column: 17), .init(line: 4, column: 1)])
    #expect(found[1].moved(toLine: 1, column: 8) == .init(line: 2, column: 24))
    #expect(found[1].moved(toLine: 2, column: 3) == .init(line: 3, column: 3))
  }

  @Test func `a plan has a line for each operator, and plans within it are indented`() {
    let scan: Value = .map([
      "operator": .string("indexScan"), "index": .string("byKm"), "reverse": .bool(false),
    ])
    let sort: Value = .map(["operator": .string("sort"), "keys": .array([.string("a"), .string("b DESC")])])
    #expect(
      PlanText.lines(of: ["plan": .array([scan, sort])]) == [
        "indexScan  index: byKm, reverse: false", "sort       keys: [a, b DESC]",
      ])
    let union: Value = .map([
      "operator": .string("union"), "all": .bool(true),
      "inputs": .array([.array([scan]), .array([.map(["operator": .string("fetch")])])]),
    ])
    #expect(
      PlanText.lines(of: ["plan": .array([union])]) == [
        "union  all: true", "  inputs", "    indexScan  index: byKm, reverse: false", "  inputs", "    fetch",
      ])
    #expect(
      PlanText.lines(of: [
        "outcome": .string("good"), "existing": .array([]), "suggestions": .array([.string("CREATE")]),
      ]) == ["existing: []", "outcome: good", "suggestions:", "  CREATE"])
    #expect(
      PlanText.lines(of: ["rows": .int(3), "plan": .array([sort])]) == [
        "plan:", "  sort  keys: [a, b DESC]", "rows: 3",
      ])
  }

  @Test func `width goes by what a terminal shows`() {
    #expect("abc".columns == 3 && "日本".columns == 4 && "e\u{301}".columns == 1)
    #expect("abcdef".cut(toColumns: 4) == "abc…")
    #expect("日本語".cut(toColumns: 4).columns <= 4)
    #expect("a\u{1B}[2J\nb\u{202E}".printable == "a\\u{1b}[2J\\nb\\u{202e}")
  }
}

/// A store of which only the names are asked.
private final class SchemaSource: StatementSource {
  private let state = Mutex((asked: 0, collection: "owners"))

  var asked: Int { state.withLock { $0.asked } }

  var collection: String {
    get { state.withLock { $0.collection } }
    set { state.withLock { $0.collection = newValue } }
  }

  func schema(of collection: String?, documents: Int) -> [TextKey: Value] {
    state.withLock { state in
      state.asked += 1
      let fields = ["originCity", "orderNumber", "group", "my-field"].map { Value.map(["name": .string($0)]) }
      return [
        "collections": .array([
          .map(["name": .string("orders"), "fields": .array(fields)]),
          .map(["name": .string(state.collection), "fields": .array([])]),
        ])
      ]
    }
  }

  func run(
    _ text: String, _ arguments: [TextKey: Value], _ take: (StatementEvent) throws -> Void
  ) -> StatementOutcome { StatementOutcome() }

  func watch(
    _ text: String, _ arguments: [TextKey: Value], limit: Int, _ take: (StatementEvent) throws -> Void
  ) {}

  func cancel() {}

  func collections() -> [TextKey: Value] { [:] }
}
