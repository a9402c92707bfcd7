import CRDTCore
import TestKit
import Testing

/// Objects whose members are read one by one.
@Suite struct JSONMembersTests {
  /// The error of these tests: the place and the words.
  private struct Mistake: JSONMemberError, Equatable {
    static var textBytes: ClosedRange<Int> { 1...8 }

    let source: String
    let text: String
    let line: Int?

    init(_ mistake: JSONMistake) {
      (source, line) = (mistake.source, mistake.line)
      text = "\(mistake.path): \(mistake.sentence)"
    }
  }

  /// An error whose rules are the default ones, but for numbers.
  private struct Lenient: JSONMemberError {
    static var areDoublesIntegers: Bool { true }

    init(_ mistake: JSONMistake) {}
  }

  private typealias Members = JSONMembers<Mistake>

  private func members(_ text: String) throws -> Members {
    let (value, lines) = try JSON.parseWithLines(Array(text.utf8))
    return try Members(value, of: "file", lines: lines)
  }

  /// The mistake that a body throws, as `line path: words`.
  private func mistake(_ text: String, _ body: (inout Members) throws -> Void) throws -> String? {
    do {
      var members = try members(text)
      try body(&members)
      return nil
    } catch let error as Mistake {
      return "\(error.line.map { "\($0)" } ?? "-") \(error.text)"
    }
  }

  @Test func `each kind of member is read once`() throws {
    var object = try members(
      #"{"t": "text", "n": 7, "f": true, "m": {"a": 1}, "l": [1, 2], "o": {"x": "y"}, "all": [{"z": 1}], "v": 1.5}"#
    )
    #expect(try object.text("t") == "text")
    #expect(try object.integer("n", in: 1...7) == 7)
    #expect(try object.flag("f") == true)
    #expect(try object.map("m") == ["a": .int(1)])
    #expect(try object.list("l", count: 2...2) == [.int(1), .int(2)])
    var inner = try #require(try object.object("o"))
    #expect(try inner.requiredText("x") == "y")
    try inner.finish()
    var all = try #require(try object.objects("all"))
    #expect(all.count == 1)
    #expect(try all[0].integer("z") == 1)
    #expect(object.value("v") == .double(1.5))
    #expect(object.value("v") == nil)
    try object.finish()
  }

  @Test func `null is a member that is missing`() throws {
    var object = try members(#"{"t": null, "o": null, "l": null}"#)
    #expect(try object.text("t") == nil)
    #expect(try object.object("o") == nil)
    #expect(try object.objects("l") == nil)
    #expect(try object.integer("n") == nil)
    try object.finish()
    #expect(try mistake(#"{"t": null}"#) { _ = try $0.requiredText("t") } == "1 t: is missing")
  }

  @Test func `a mistake names the place, the line and what is expected`() throws {
    #expect(try mistake("\n[]") { _ in } == "2 : must be a JSON object")
    #expect(try mistake("{}") { _ = try $0.requiredText("t") } == "1 t: is missing")
    #expect(try mistake("{\"t\":\n 1}") { _ = try $0.text("t") } == "2 t: must be a text")
    #expect(try mistake(#"{"t": ""}"#) { _ = try $0.text("t") } == "1 t: must have at most 8 bytes")
    #expect(
      try mistake(#"{"t": "123"}"#) { _ = try $0.text("t", bytes: 2) } == "1 t: must have at most 2 bytes")
    for number in ["0", "8", "1.5", "3.0", "\"3\""] {
      let found = try mistake("{\"n\": \(number)}") { _ = try $0.integer("n", in: 1...7) }
      expectEqual(found, "1 n: must be a whole number from 1 to 7")
    }
    #expect(try mistake(#"{"f": 1}"#) { _ = try $0.flag("f") } == "1 f: must be true or false")
    #expect(try mistake(#"{"m": 1}"#) { _ = try $0.map("m") } == "1 m: must be an object")
    #expect(try mistake(#"{"l": 1}"#) { _ = try $0.list("l") } == "1 l: must be a list")
    #expect(
      try mistake(#"{"l": []}"#) { _ = try $0.list("l", count: 1...2) }
        == "1 l: must have from 1 to 2 elements")
    #expect(
      try mistake("{\"a\": {\n\"b\": [{},\n{\"c\": 1}]}}") { object in
        var inner = try #require(try object.object("a"))
        var all = try #require(try inner.objects("b"))
        _ = try all[1].text("c")
      } == "3 a.b[1].c: must be a text")
    #expect(
      try mistake("{\"b\": [{},\n7]}") { _ = try $0.objects("b") } == "2 b[1]: must be a JSON object")
    #expect(
      try mistake(#"{"d": 1}"#) { object in
        _ = try object.value("d", or: "must be odd") { $0 == .int(3) ? 3 : nil }
      } == "1 d: must be odd")
    #expect(try members("{}").fault("x", "is wrong").source == "file")
  }

  @Test func `the first member that nobody reads is a mistake`() throws {
    let text = "{\"z\": 1,\n\"b\":\n2, \"a\": 3, \"t\": \"t\"}"
    #expect(
      try mistake(text) { object in
        _ = try object.text("t")
        try object.finish()
      } == "1 z: is no member that is known here")
    #expect(
      try mistake(text) { object in
        for name in ["z", "a", "t"] as [TextKey] { _ = object.value(name) }
        try object.finish()
      } == "2 b: is no member that is known here")
    var object = Members(["b": .int(1), "a": .int(2)])
    _ = object.value("c")
    let error = #expect(throws: Mistake.self) { try object.finish() }
    #expect(error?.text == "a: is no member that is known here")
    #expect(error?.line == nil)
  }

  @Test func `the reader's error decides whether 3.0 is a whole number`() throws {
    var object = JSONMembers<Lenient>(["n": .double(3), "x": .double(3.5)])
    #expect(try object.integer("n") == 3)
    #expect(throws: Lenient.self) { try object.integer("x") }
  }

  @Test func `lines are counted through texts, escapes and a byte-order mark`() throws {
    let text = "\u{FEFF}\n{ \"a\\\"\\n\" : \"x\\\\\",\n \"b\"\n:\n[ true ,\n -1.5e3 ] }"
    let lines = try JSON.parseWithLines(Array(text.utf8)).lines
    #expect(lines.line == 2)
    #expect(lines.members["a\"\n"]?.line == 2)
    #expect(lines.members["b"]?.nameLine == 3)
    #expect(lines.members["b"]?.line == 5)
    #expect(lines.members["b"]?.elements.map(\.line) == [5, 6])
    #expect(throws: JSONError.self) { try JSON.parseWithLines(Array("{".utf8)) }
  }
}
