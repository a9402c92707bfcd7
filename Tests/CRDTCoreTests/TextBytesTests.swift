import CRDTCore
import TestKit
import Testing

@Suite struct TextBytesTests {
  /// Byte strings that are not UTF-8, with the offset of the first wrong byte.
  ///
  /// There is one of each kind of table 3-7 of the Unicode Standard.
  static let illFormed: [(bytes: [UInt8], offset: Int)] = [
    ([0x80], 0),  // a continuation without a beginning
    ([0x61, 0xBF, 0x61], 1),
    ([0xC0, 0x80], 0),  // overlong forms
    ([0xC1, 0xBF], 0),
    ([0xE0, 0x80, 0x80], 0),
    ([0xE0, 0x9F, 0xBF], 0),
    ([0xF0, 0x80, 0x80, 0x80], 0),
    ([0xF0, 0x8F, 0xBF, 0xBF], 0),
    ([0xED, 0xA0, 0x80], 0),  // surrogates
    ([0xED, 0xBF, 0xBF], 0),
    ([0xF4, 0x90, 0x80, 0x80], 0),  // above U+10FFFF
    ([0xF5, 0x80, 0x80, 0x80], 0),
    ([0xFE], 0),  // bytes that stand nowhere
    ([0xFF], 0),
    ([0xC3], 0),  // cut off
    ([0xE2, 0x82], 0),
    ([0xF0, 0x9F, 0x98], 0),
    ([0xE2, 0x82, 0x61], 0),  // cut short by another character
    ([0xF0, 0x9F, 0x61, 0x61], 0),
    ([0xC3, 0xC3, 0xA9], 0),
    ([0xC3, 0xA9, 0xC3], 2),
    ([0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98], 3),
  ]

  @Test(arguments: illFormed)
  func `bytes that are not UTF-8 are no text, wherever they stand`(_ wrong: [UInt8], offset: Int) {
    // The validator checks eight bytes at a time. So the wrong bytes go before, across and behind such an
    // edge, and in front of more text.
    for before in 0..<20 {
      for after in [0, 1, 7, 8, 9, 20] {
        let filler = [UInt8](repeating: UInt8(ascii: "x"), count: before)
        let bytes = filler + wrong + [UInt8](repeating: UInt8(ascii: "y"), count: after)
        let span = bytes.span.bytes
        expect(span.text == nil)
        expectEqual(span.isUTF8, false)
        expectEqual(span.utf8Count, before + offset)
      }
    }
  }

  @Test(arguments: [
    "", "a", "\0", "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{FFF}", "\u{1000}", "\u{CFFF}", "\u{D000}",
    "\u{D7FF}",
    "\u{E000}", "\u{FFFD}", "\u{FFFF}", "\u{10000}", "\u{3FFFF}", "\u{40000}", "\u{FFFFF}", "\u{100000}",
    "\u{10FFFF}", "Grüße, 世界 👋🏽", "e\u{301}", "\u{FFFD}\u{FFFD}",
  ])
  func `UTF-8 is text, byte for byte`(_ text: String) {
    for before in 0..<20 {
      let padded = String(repeating: "x", count: before) + text
      let bytes = Array(padded.utf8)
      let span = bytes.span.bytes
      expectEqual(span.isUTF8, true)
      expectEqual(span.utf8Count, bytes.count)
      expectEqual(span.text.map { Array($0.utf8) }, bytes)
    }
  }

  @Test(arguments: 0..<20)
  func `any bytes are judged as the standard library does`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let parts = Self.illFormed.map(\.bytes) + ["a", "é", "€", "😀", "0123456789"].map { Array($0.utf8) }
    for round in 0..<2000 {
      var bytes: [UInt8] = []
      if round % 2 == 0 {
        for _ in 0..<random.int(below: 6) { bytes += random.pick(parts) }
      } else {
        bytes = random.bytes(below: 24)
      }
      let expected = String(validating: bytes, as: UTF8.self)
      let span = bytes.span.bytes
      expectEqual(span.text.map { Array($0.utf8) }, expected.map { Array($0.utf8) })
      expectEqual(span.isUTF8, expected != nil)
      // What comes before the first wrong byte is the longest beginning that is text.
      let longest = (0...bytes.count).last { String(validating: bytes[..<$0], as: UTF8.self) != nil }
      expectEqual(span.utf8Count, longest)
    }
  }

  @Test(arguments: ["", "short", "exactly 15 byte", "sixteen bytes ok", String(repeating: "長い", count: 100)])
  func `a closure gets the UTF-8 of any text`(_ text: String) {
    #expect(text.withUTF8Bytes { bytes in bytes.withUnsafeBytes { unsafe Array($0) } } == Array(text.utf8))
    // A part of another text is stored within it.
    let part = "(\(text))".dropFirst().dropLast()
    #expect(String(part).withUTF8Bytes { $0.byteCount } == text.utf8.count)
  }

  @Test func `what a closure over UTF-8 throws comes out`() {
    struct Refusal: Error, Equatable {}
    #expect(throws: Refusal()) {
      try "text".withUTF8Bytes { (_) throws(Refusal) in throw Refusal() }
    }
  }
}
