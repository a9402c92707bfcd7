import CRDTCore
import SyncProtocol
import TestKit
import Testing

@Suite struct FrameCodecTests {
  private func frame(_ form: FrameForm) -> [UInt8] {
    FrameCodec.frame(.ping, in: form) { $0.writeFixed(UInt64(7)) }
  }

  @Test(arguments: [(FrameForm.long, SyncLimits.frameOverhead), (.compact, 6)])
  func `a frame reads back as it was written`(form: FrameForm, overhead: Int) throws {
    let frame = frame(form)
    let bounds = try #require(try FrameCodec.next(in: frame.span.bytes, at: 0))
    #expect(bounds.type == FrameType.ping.rawValue)
    #expect(Array(frame[bounds.payload]) == [0, 0, 0, 0, 0, 0, 0, 7])
    #expect(bounds.end == frame.count)
    #expect(frame.count == 8 + overhead)
  }

  @Test(arguments: [0, 1, 126, 127, 128, 16_382, 16_383, 16_384, 131_067], [0, 48, 70_000])
  func `a compact frame of any length reads back, however long it was taken to become`(
    count: Int, guess: Int
  ) throws {
    let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let frame = FrameCodec.frame(.fragment, in: .compact, payloadBytes: guess) { $0.write(payload) }
    let bounds = try #require(try FrameCodec.next(in: frame.span.bytes, at: 0))
    #expect(Array(frame[bounds.payload]) == payload)
    #expect(bounds.end == frame.count)
    #expect(try FrameCodec.byteCount(of: frame.span.bytes) == frame.count)
  }

  @Test(arguments: [FrameForm.long, .compact])
  func `an incomplete frame is waited for`(form: FrameForm) throws {
    let frame = frame(form)
    for count in 0..<frame.count {
      let part = Array(frame.prefix(count))
      #expect(try FrameCodec.next(in: part.span.bytes, at: 0) == nil)
    }
  }

  @Test(arguments: [FrameForm.long, .compact])
  func `any bit that changes behind the length does not fit the checksum`(form: FrameForm) throws {
    let frame = frame(form)
    for index in (form == .long ? 4 : 1)..<frame.count {
      for bit in 0..<8 {
        var bytes = frame
        bytes[index] ^= 1 << UInt8(bit)
        let error = #expect(throws: SyncError.self) { try FrameCodec.next(in: bytes.span.bytes, at: 0) }
        #expect(error?.code == .checksum, "byte \(index), bit \(bit)")
      }
    }
  }

  @Test(arguments: [FrameForm.long, .compact])
  func `a frame whose length has changed is waited for, or refused`(form: FrameForm) throws {
    let frame = frame(form)
    for index in 0..<(form == .long ? 4 : 1) {
      for bit in 0..<8 {
        var bytes = frame
        bytes[index] ^= 1 << UInt8(bit)
        do throws(SyncError) {
          #expect(try FrameCodec.next(in: bytes.span.bytes, at: 0) == nil, "byte \(index), bit \(bit)")
        } catch {
          // Longer than any frame, shorter than this one, whose bytes then do not fit, or of the other form.
          #expect(
            [.limit, .checksum, .malformed].contains(error.code), "byte \(index), bit \(bit): \(error)")
        }
      }
    }
  }

  @Test(arguments: [FrameForm.long, .compact])
  func `a numbered frame is read in its place alone, and found in any`(form: FrameForm) throws {
    var frame = frame(form)
    FrameCodec.number(&frame, as: 70_000)
    #expect(try FrameCodec.next(in: frame.span.bytes, at: 0, number: 70_000)?.end == frame.count)
    for number in [0, 69_999, 70_001, .max] as [UInt32] {
      let error = #expect(throws: SyncError.self) {
        try FrameCodec.next(in: frame.span.bytes, at: 0, number: number)
      }
      #expect(error?.code == .checksum)
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

  @Test(arguments: [FrameForm.long, .compact], [1, 2, 7, 1_000])
  func `of frames that arrive in pieces no byte is copied twice`(form: FrameForm, pieceBytes: Int) throws {
    let frame = FrameCodec.frame(.fragment, in: form) { $0.write([UInt8](repeating: 9, count: 100_000)) }
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
          #expect(buffer.take() == frame)
          found += 1
        }
      }
    }
    #expect(found == 2)
    #expect(buffer.copiedBytes == stream.count)
  }
}
