import CRDTCore
import SyncProtocol
import TestKit
import Testing

@Suite struct FrameCodecTests {
  private let frame = FrameCodec.frame(.ping) { $0.writeFixed(UInt64(7)) }

  @Test func `a frame reads back as it was written`() throws {
    let bounds = try #require(try FrameCodec.next(in: frame.span.bytes, at: 0))
    #expect(bounds.type == FrameType.ping.rawValue)
    #expect(Array(frame[bounds.payload]) == [0, 0, 0, 0, 0, 0, 0, 7])
    #expect(bounds.end == frame.count)
    #expect(frame.count == 8 + SyncLimits.frameOverhead)
  }

  @Test func `an incomplete frame is waited for`() throws {
    for count in 0..<frame.count {
      let part = Array(frame.prefix(count))
      #expect(try FrameCodec.next(in: part.span.bytes, at: 0) == nil)
    }
  }

  @Test func `any changed byte is noticed or waited for`() throws {
    for index in frame.indices {
      for bit in 0..<8 {
        var bytes = frame
        bytes[index] ^= 1 << UInt8(bit)
        let found = try? FrameCodec.next(in: bytes.span.bytes, at: 0)
        #expect((found ?? nil) == nil, "byte \(index), bit \(bit)")
      }
    }
  }

  @Test(
    arguments: [
      (UInt32(0), SyncError.Code.malformed), (4, .malformed), (UInt32(SyncLimits.frameBytes) + 1, .limit),
      (.max, .limit),
      (0x8000_0000, .limit),
    ])
  func `a length that no frame has is refused before the frame arrives`(length: UInt32, code: SyncError.Code)
  {
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) }
    let error = #expect(throws: SyncError.self) { try FrameCodec.next(in: bytes.span.bytes, at: 0) }
    #expect(error?.code == code)
  }
}
