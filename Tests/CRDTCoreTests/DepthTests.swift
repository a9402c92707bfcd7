import CRDTCore
import CRDTModel
import TestKit
import Testing

/// One limit of depth at every entrance of the core: 64 levels of maps and arrays in the value of a field.
@Suite struct DepthTests {
  enum Container: CaseIterable {
    case array, map

    func wrap(_ value: Value) -> Value {
      switch self {
      case .array: .array([value])
      case .map: .map(["m": value])
      }
    }

    func nested(_ levels: Int) -> Value {
      var value = Value.int(1)
      for _ in 0..<levels { value = wrap(value) }
      return value
    }

    func json(_ levels: Int) -> String {
      let (open, close) = self == .array ? ("[", "]") : (#"{"m":"#, "}")
      return String(repeating: open, count: levels) + "1" + String(repeating: close, count: levels)
    }
  }

  @Test(arguments: Container.allCases)
  func `an upsert and an edit take 64 levels and refuse 65`(container: Container) throws {
    var peer = Peer(1)
    try peer.upsert(["f": container.nested(64)])
    try peer.update([.set(["g"], container.nested(64)), .replace(["h", "i"], container.nested(63))])
    #expect(try peer.fields?["f"] == container.nested(64))
    for write in [
      { try peer.upsert(["f": container.nested(65)]) },
      { try peer.update([.set(["f"], container.nested(65))]) },
      { try peer.update([.replace(["f", "g"], container.nested(64))]) },
    ] as [() throws -> Bool] {
      #expect(throws: DocumentError.self) { try write() }
    }
  }

  @Test func `a path leads to a field of the deepest map and no further`() throws {
    var peer = Peer(1)
    try peer.upsert([:])
    let path = [TextKey](repeating: "m", count: 65)
    try peer.update([.set(path, .int(1))])
    #expect(try peer.fields?["m"] == Container.map.nested(64))
    #expect(throws: DocumentError.self) { try peer.update([.set(path + ["m"], .int(1))]) }
    #expect(throws: DocumentError.self) { try peer.update([.increment(path + ["m"], 1)]) }
  }

  @Test(arguments: Container.allCases)
  func `JSON takes documents of 64 levels and refuses 65`(container: Container) throws {
    for interpretsTags in [false, true] {
      let options = JSON.ReadOptions(interpretsTags: interpretsTags)
      let document = try JSON.parse(#"{"f":\#(container.json(64))}"#, options: options)
      expectEqual(document, .map(["f": container.nested(64)]))
      try expectEqual(JSON.parse(JSON.text(of: document), options: options), document)
      let error = #expect(throws: JSONError.self) {
        try JSON.parse(#"{"f":\#(container.json(65))}"#, options: options)
      }
      expectEqual(error?.code, .depth)
      #expect(throws: JSONError.self) { try JSON.parse("[" + container.json(64) + "]", options: options) }
    }
  }

  @Test func `tags are values, not levels`() throws {
    let deepest = AttachmentToken(id: [1], byteCount: 2, metadata: ["a": "b"])
    var value = Value.array([.attachment(deepest), .double(.infinity), .bytes([1])])
    for _ in 0..<63 { value = .array([value]) }
    let document = Value.map(["f": value])
    let text = JSON.text(of: document, options: .init(isLossless: true))
    #expect(try JSON.parse(text, options: .init(interpretsTags: true)) == document)
    #expect(throws: JSONError.self) { try JSON.parse(text) }
    #expect(throws: JSONError.self) {
      try JSON.parse(#"{"f":["# + text + "]}", options: .init(interpretsTags: true))
    }
  }

  @Test(arguments: Container.allCases)
  func `the wire takes 64 levels and refuses 65`(container: Container) throws {
    var sender = Peer(1)
    try sender.upsert(["m": container.nested(64)])
    let wire = try sender.wire()
    var receiver = Peer(2)
    try receiver.merge(wire)
    #expect(try receiver.fields?["m"] == container.nested(64))
    // One more level, in the middle of those that are there.
    let level: [UInt8] = container == .array ? [7, 1] : [1, 1, UInt8(ascii: "m")]
    let run = try #require(wire.indices.dropFirst(wire.count / 2).first { wire[$0...].starts(with: level) })
    let end = container == .array ? 2 : 4
    let deeper = wire[..<run] + wire[run..<run + end] + wire[run...]
    let error = #expect(throws: CodecError.self) { try receiver.merge(Array(deeper)) }
    #expect(error?.code == .limit)
  }

  @Test(arguments: Container.allCases)
  func `a value of 5,000 levels is refused, compared, hashed and let go of`(container: Container) throws {
    var peer = Peer(1)
    let value = container.nested(5_000)
    #expect(throws: DocumentError.self) { try peer.upsert(["f": value]) }
    try peer.upsert(["f": .int(1)])
    #expect(throws: DocumentError.self) { try peer.update([.set(["f"], value)]) }
    #expect(throws: DocumentError.self) { try peer.upsert(["f": value], .updateDifferentValues) }
    #expect(throws: DocumentError.self) { try DocumentID(value) }
    #expect(value == container.nested(5_000))
    #expect(value != container.nested(4_999))
    #expect(Set([value, container.nested(5_000), container.nested(4_999)]).count == 2)
    #expect(throws: JSONError.self) { try JSON.parse(container.json(5_000)) }
    #expect(throws: JSONError.self) {
      try JSON.parse(container.json(5_000), options: .init(interpretsTags: true))
    }
  }
}
