import CRDTCore
import TestKit
import Testing

@Suite struct JSONPropertyTests {
  @Test(arguments: 0..<200 as Range<UInt64>)
  func `every value comes back from its lossless text`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let value = Self.value(using: &generator, levels: 5)
    for isPretty in [false, true] {
      let text = JSON.text(of: value, options: .init(isPretty: isPretty, isLossless: true))
      try expectEqual(JSON.parse(text, options: .init(interpretsTags: true)), value, "seed \(seed): \(text)")
    }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `every finite double comes back bit for bit`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<1000 {
      let double = Double(bitPattern: generator.next())
      guard double.isFinite else { continue }
      guard case .double(let back) = try JSON.parse(JSON.text(of: .double(double))) else {
        Issue.record("seed \(seed): \(double) came back as another kind")
        return
      }
      expectEqual(back.bitPattern, double.bitPattern, "seed \(seed)")
    }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `reads short decimals as the standard library does`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<1000 {
      let text = "\(generator.next() >> UInt64(generator.int(below: 60))).0e\(generator.int(below: 60) - 30)"
      try expectEqual(JSON.parse(text), .double(try #require(Double(text))), "seed \(seed): \(text)")
    }
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `a damaged text is read or refused, and what is read can be written`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let value = Self.value(using: &generator, levels: 4)
    let intact = Array(JSON.text(of: value, options: .init(isLossless: true)).utf8)
    for _ in 0..<50 {
      var bytes = intact
      for _ in 0...generator.int(below: 3) {
        let index = generator.int(below: bytes.count)
        switch generator.int(below: 4) {
        case 0: bytes[index] ^= 1 << UInt8(generator.int(below: 8))
        case 1: bytes[index] = generator.pick(Array("{}[]\",:\\u0-.e".utf8))
        case 2: bytes.insert(UInt8(truncatingIfNeeded: generator.next()), at: index)
        default: bytes.removeSubrange(index...)
        }
        if bytes.isEmpty { break }
      }
      do throws(JSONError) {
        let read = try JSON.parse(bytes)
        expect((try? JSON.parse(JSON.text(of: read))) != nil, "seed \(seed)")
      } catch {
        expect((0...bytes.count).contains(error.offset), "seed \(seed): \(error)")
      }
    }
  }

  /// Any value but a NaN, which is not equal to itself.
  private static func value(using generator: inout SeededGenerator, levels: Int) -> Value {
    switch generator.int(below: levels > 0 ? 11 : 8) {
    case 0: return .null
    case 1: return .bool(generator.oneIn(2))
    case 2: return .int(Int64(bitPattern: generator.next()) >> Int64(generator.int(below: 64)))
    case 3:
      let double = Double(bitPattern: generator.next())
      return .double(double.isNaN ? .infinity : double)
    case 4: return .string(string(using: &generator))
    case 5: return .bytes(generator.bytes(below: 12))
    case 6: return .counter(Int64(bitPattern: generator.next()))
    case 7:
      return .attachment(
        AttachmentToken(
          id: generator.bytes(below: 40), byteCount: generator.next() >> 1,
          metadata: [TextKey(string(using: &generator)): TextKey(string(using: &generator))]))
    case 8:
      return .array((0..<generator.int(below: 5)).map { _ in value(using: &generator, levels: levels - 1) })
    default:
      var map: [TextKey: Value] = [:]
      for _ in 0..<generator.int(below: 5) {
        let key =
          generator.oneIn(4)
          ? generator.pick(["$bytes", "$$bytes", "$counter", "$"]) : string(using: &generator)
        map[key] = value(using: &generator, levels: levels - 1)
      }
      return .map(map)
    }
  }

  private static func string(using generator: inout SeededGenerator) -> String {
    let alphabet: [Unicode.Scalar] = [
      "a", "b", "\"", "\\", "\n", "\0", "\u{7F}", "é", "€", "😀", "\u{301}", "/", "{",
    ]
    var scalars = String.UnicodeScalarView()
    for _ in 0..<generator.int(below: 20) { scalars.append(generator.pick(alphabet)) }
    return String(scalars)
  }
}
