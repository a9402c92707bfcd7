import CRDTCore

/// Bytes of the peer's that have come and are not looked at yet: a step takes no more than it has time for, and none while
/// too much waits to be applied.
struct InputBacklog {
  private var bytes: [UInt8] = []
  private var start = 0

  var isEmpty: Bool { start == bytes.count }
  var byteCount: Int { bytes.count - start }

  /// Adds bytes that follow those that wait.
  mutating func append(_ source: RawSpan) {
    if start > 0, start * 2 >= bytes.count {
      bytes.removeFirst(start)
      start = 0
    }
    unsafe source.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  /// Hands out what waits; `body` returns how many bytes of it were taken.
  mutating func take(_ body: (RawSpan) throws(SyncError) -> Int) throws(SyncError) {
    let all = bytes
    bytes = []
    let taken = try body(all.span.bytes.extracting(start...))
    bytes = all
    start += taken
    if start == bytes.count { (bytes, start) = ([], 0) }
  }
}

/// What looking at what the peer sends costs, in records that could be visited in the same time.
enum InputCost {
  /// Plain bytes that inflating makes in the time of one record.
  private static let plainBytes = 128
  /// The same of the dense coder, which is far slower.
  private static let denseBytes = 4
  /// Records in the time that a byte of a query takes.
  private static let recordsPerQueryByte = 2
  /// The same for a step of its evaluation: a node, or a state of a regular expression.
  private static let recordsPerQueryStep = 2

  /// What a frame costs, before it is looked at.
  static func frame(_ type: UInt8, _ payload: RawSpan) -> Int {
    switch FrameType(rawValue: type) {
    case .fragment?, .chunk?: piece(payload)
    // Each of them names documents or ranges.
    case .want?, .have?, .compare?, .answer?, .offer?, .announce?: 1 + payload.byteCount / 32
    // An interest's queries are looked at later, and cost more.
    default: 1 + payload.byteCount / plainBytes
    }
  }

  /// What taking apart a query of so many bytes costs, and compiling it, as far as its length tells.
  static func query(_ byteCount: Int) -> Int { 1 + byteCount * recordsPerQueryByte }

  /// What compiling its conditions costs beside that, which few bytes make many steps of.
  static func query(steps: Int) -> Int { steps * recordsPerQueryStep }

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
