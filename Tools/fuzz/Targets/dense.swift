import CRDTCore
import SyncProtocol

/// Any bytes as a dense piece, which expands to what it announces or is refused, and as a text to be packed.
enum Target {
  static let seeds: [[UInt8]] = [
    [], [0], Array("the sea, the sea, and the harbour by the sea".utf8), [UInt8](repeating: 0, count: 300),
    (0..<400).map { UInt8(truncatingIfNeeded: $0 &* $0) },
  ]

  static func run(_ input: [UInt8]) {
    let (first, second) = (input.prefix(input.count / 2), input.suffix(from: input.count / 2))
    let packer = DenseCoder()
    let unpacker = DenseCoder()
    for piece in [Array(first), Array(second)] {
      let packed = packer.pack(piece.span.bytes)
      precondition(packed.count <= piece.count + piece.count / 8 + 16, "packing makes far more of it")
      var plain: [UInt8] = []
      do {
        try expand(packed, plainCount: piece.count, by: unpacker, into: &plain)
      } catch {
        preconditionFailure("what was packed is refused: \(error)")
      }
      precondition(plain == piece, "what was packed is not what comes out")
    }
    packer.learn(input.span.bytes)
    var plain: [UInt8] = []
    let count = min(input.count * 4, 4_096)
    if (try? expand(input, plainCount: count, by: unpacker, into: &plain)) != nil {
      precondition(plain.count == count, "a piece expands to something else than it announces")
    }
  }

  private static func expand(
    _ packed: [UInt8], plainCount: Int, by unpacker: DenseCoder, into plain: inout [UInt8]
  ) throws(SyncError) {
    try unpacker.expand(packed.span.bytes, plainCount: plainCount, into: &plain)
  }
}
