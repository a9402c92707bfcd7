import CRDTCore
import SyncProtocol
import TestKit
import Testing

@Suite struct FrameCodecTests {
  private func frame(isFirst: Bool) -> [UInt8] {
    FrameCodec.frame(.ping, isFirst: isFirst) { $0.writeFixed(UInt64(7)) }
  }

  @Test(arguments: [(true, 9), (false, 6)])
  func `a frame reads back as it was written`(isFirst: Bool, overhead: Int) throws {
    let frame = frame(isFirst: isFirst)
    #expect(FrameCodec.beginsStream(frame.span.bytes, at: 0) == isFirst)
    let bounds = try #require(try FrameCodec.next(in: frame.span.bytes, at: 0))
    #expect(bounds.type == FrameType.ping.rawValue)
    #expect(Array(frame[bounds.payload]) == [0, 0, 0, 0, 0, 0, 0, 7])
    #expect(bounds.end == frame.count)
    #expect(frame.count == 8 + overhead)
  }

  @Test(arguments: [0, 1, 126, 127, 128, 16_382, 16_383, 16_384, 131_067], [0, 48, 70_000])
  func `a frame of any length reads back, however long it was taken to become`(
    count: Int, guess: Int
  ) throws {
    let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let frame = FrameCodec.frame(.fragment, payloadBytes: guess) { $0.write(payload) }
    let bounds = try #require(try FrameCodec.next(in: frame.span.bytes, at: 0))
    #expect(Array(frame[bounds.payload]) == payload)
    #expect(bounds.end == frame.count)
    #expect(try FrameCodec.byteCount(of: frame.span.bytes) == frame.count)
  }

  @Test(arguments: [true, false])
  func `an incomplete frame is waited for`(isFirst: Bool) throws {
    let frame = frame(isFirst: isFirst)
    for count in 0..<frame.count {
      let part = Array(frame.prefix(count))
      try expect(FrameCodec.next(in: part.span.bytes, at: 0) == nil)
    }
  }

  @Test(arguments: [true, false])
  func `any bit that changes behind the length does not fit the checksum`(isFirst: Bool) throws {
    let frame = frame(isFirst: isFirst)
    for index in (isFirst ? 4 : 1)..<frame.count {
      for bit in 0..<8 {
        var bytes = frame
        bytes[index] ^= 1 << UInt8(bit)
        let error = #expect(throws: SyncError.self) { try FrameCodec.next(in: bytes.span.bytes, at: 0) }
        expectEqual(error?.code, .checksum, "byte \(index), bit \(bit)")
      }
    }
  }

  @Test(arguments: [true, false])
  func `a frame whose length has changed is waited for, or refused`(isFirst: Bool) throws {
    let frame = frame(isFirst: isFirst)
    for index in 0..<(isFirst ? 4 : 1) {
      for bit in 0..<8 {
        var bytes = frame
        bytes[index] ^= 1 << UInt8(bit)
        do throws(SyncError) {
          try expect(FrameCodec.next(in: bytes.span.bytes, at: 0) == nil, "byte \(index), bit \(bit)")
        } catch {
          // The frame is longer than any may be, is shorter, so that the bytes do not fit, or has the other
          // head.
          expect([.limit, .checksum, .malformed].contains(error.code), "byte \(index), bit \(bit): \(error)")
        }
      }
    }
  }

  @Test(arguments: [true, false])
  func `a numbered frame is read in its place alone, and found in any`(isFirst: Bool) throws {
    var frame = frame(isFirst: isFirst)
    FrameCodec.number(&frame, as: 70_000)
    #expect(try FrameCodec.next(in: frame.span.bytes, at: 0, number: 70_000)?.end == frame.count)
    for number in [0, 69_999, 70_001, .max] as [UInt32] {
      let error = #expect(throws: SyncError.self) {
        try FrameCodec.next(in: frame.span.bytes, at: 0, number: number)
      }
      expectEqual(error?.code, .checksum)
    }
    #expect(try FrameCodec.bounds(in: frame.span.bytes, at: 0)?.type == FrameType.ping.rawValue)
  }

  @Test(
    arguments: [
      ([0, 0, 0, 0], SyncError.Code.malformed), ([0, 0, 0, 4], .malformed), ([0, 2, 0, 1], .limit),
      ([0, 0xFF, 0xFF, 0xFF], .limit), ([0xFF, 0xFF, 0x07], .limit), ([0x80, 0x80, 0x80], .limit),
      ([0xFF, 0xFF, 0xFF, 0xFF], .limit), ([0x80, 0], .malformed), ([0x80, 0x80, 0], .malformed),
    ] as [([UInt8], SyncError.Code)])
  func `a length that no frame has is refused before the frame arrives`(
    bytes: [UInt8], code: SyncError.Code
  ) {
    let error = #expect(throws: SyncError.self) { try FrameCodec.next(in: bytes.span.bytes, at: 0) }
    #expect(error?.code == code)
  }

  @Test(arguments: [true, false], [1, 2, 7, 1_000])
  func `of frames that arrive in pieces no byte is copied twice`(isFirst: Bool, pieceBytes: Int) throws {
    let payload = [UInt8](repeating: 9, count: 100_000)
    let frame = FrameCodec.frame(.fragment, isFirst: isFirst) { $0.write(payload) }
    let stream = frame + frame
    var buffer = FrameBuffer()
    var found = 0
    var start = 0
    while start < stream.count {
      let piece = Array(stream[start..<min(start + pieceBytes, stream.count)])
      start += piece.count
      var position = 0
      while position < piece.count {
        if try buffer.complete(with: piece.span.bytes, from: &position) {
          expect(buffer.bytes == frame && buffer.isWhole)
          buffer.removeAll()
          found += 1
        }
      }
    }
    #expect(found == 2)
    #expect(buffer.copiedBytes == stream.count)
  }
}
