import CRDTCore

/// Received bytes that the session has not parsed yet.
///
/// A step parses only what it has time for, and nothing while too much data waits to be applied.
struct InputBacklog {
  private var bytes: [UInt8] = []
  private var start = 0

  var isEmpty: Bool { start == bytes.count }
  var byteCount: Int { bytes.count - start }

  /// Appends bytes after those that wait.
  mutating func append(_ source: RawSpan) {
    if start > 0, start * 2 >= bytes.count {
      bytes.removeFirst(start)
      start = 0
    }
    unsafe source.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  /// Passes the waiting bytes to `body`, which returns how many of them it consumed.
  mutating func consume(_ body: (RawSpan) throws(SyncError) -> Int) throws(SyncError) {
    let all = bytes
    bytes = []
    let consumed = try body(all.span.bytes.extracting(start...))
    bytes = all
    start += consumed
    if start == bytes.count { (bytes, start) = ([], 0) }
  }
}

/// The cost of processing the peer's input, in records that could be visited in the same time.
enum InputCost {
  /// Plain bytes that inflating produces in the time of one record.
  private static let plainBytes = 128
  /// The same for the dense coder, which is far slower.
  private static let denseBytes = 4
  /// Records that could be visited in the time of one byte of a query.
  private static let recordsPerQueryByte = 2
  /// Records per evaluation step: a node, or a state of a regular expression.
  private static let recordsPerQueryStep = 2

  /// Returns the estimated cost of a frame, before it is parsed.
  static func frame(_ type: UInt8, _ payload: RawSpan) -> Int {
    switch FrameType(rawValue: type) {
    case .fragment?, .chunk?: piece(payload)
    // Each of these frames names documents or ranges.
    case .want?, .have?, .compare?, .answer?, .offer?, .announce?: 1 + payload.byteCount / 32
    // The queries of an interest are parsed later and charged separately.
    default: 1 + payload.byteCount / plainBytes
    }
  }

  /// Returns the estimated cost of parsing and compiling a query of `byteCount` bytes.
  static func query(_ byteCount: Int) -> Int { 1 + byteCount * recordsPerQueryByte }

  /// Returns the additional cost of compiling its conditions: a few bytes can produce many steps.
  static func query(steps: Int) -> Int { steps * recordsPerQueryStep }

  /// Returns the bytes of data in a frame that stay in memory until they are applied.
  static func memoryBytes(_ type: UInt8, _ payload: RawSpan) -> Int {
    var reader = ByteReader(payload)
    switch FrameType(rawValue: type) {
    case .fragment?: return (try? FragmentHead(from: &reader))?.plainBytes ?? 0
    case .chunk?: return (try? ChunkHead(from: &reader))?.plainBytes ?? 0
    default: return 0
    }
  }

  private static func piece(_ payload: RawSpan) -> Int {
    guard payload.byteCount > 0 else { return 1 }
    let flags = unsafe payload.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt8.self)
    switch PiecePacking(rawValue: flags) {
    case .dense?: return SyncLimits.densePieceBytes / denseBytes
    case .deflated?: return Limits.fragmentBytes / plainBytes
    case .stored?, nil: return 1 + payload.byteCount / plainBytes
    }
  }
}
