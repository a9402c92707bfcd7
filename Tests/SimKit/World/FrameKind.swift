import CRDTCore
import SyncProtocol

/// What can be told of frames by looking at them.
enum FrameKind {
  private static let pings: ClosedRange<UInt8> = 0x0D...0x0E

  /// Whether the bytes are a frame that keeps a quiet link alive, or answers one: of eight bytes.
  static func keepsAlive(_ bytes: [UInt8]) -> Bool {
    bytes.count == 14 && bytes[0] == 9 && pings.contains(bytes[1])
  }

  /// The ids and bounds in an answer, which writes no more of each than what differs from the one before.
  static func namesInFull(_ bytes: [UInt8]) throws -> [[UInt8]] {
    guard let frame = try FrameCodec.bounds(in: bytes.span.bytes, at: 0) else { return [] }
    var reader = ByteReader(bytes.span.bytes.extracting(frame.payload))
    guard frame.type == FrameType.answer.rawValue else { return [] }
    _ = try reader.readVarint()
    var names: [[UInt8]] = []
    for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
      switch try RangeAnswer(from: &reader).body {
      case .split(let subranges): names += subranges.map(\.to)
      case .items(let items, _), .rest(let items, _): names += items.map(\.id.bytes)
      case .equal, .stream: break
      }
    }
    return names
  }

  /// A frame in one word and its length, for who reads along; and which part of which large group it is.
  static func text(_ bytes: [UInt8]) -> String {
    guard bytes.count > 4 else { return "\(bytes.count) B" }
    // The first frame of a stream begins with a length of four bytes, of which the first is zero.
    let place = bytes[0] == 0 ? 4 : (bytes.firstIndex { $0 < 0x80 } ?? 0) + 1
    let type = FrameType(rawValue: bytes[place])
    let name = type.map { "\($0)" } ?? "type \(bytes[place])"
    var reader = ByteReader(bytes.span.bytes, offset: place + 1)
    guard type == .chunk, (try? reader.readByte()) != nil, let transfer = try? reader.readVarint(),
      let total = try? reader.readVarint(), let offset = try? reader.readVarint()
    else { return "\(name), \(bytes.count) B" }
    return "\(name) \(transfer) from \(offset) of \(total), \(bytes.count) B"
  }
}
