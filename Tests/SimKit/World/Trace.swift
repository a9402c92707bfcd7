import CRDTCore

/// A rolling hash of all that happened: equal for two runs exactly when they went alike.
package struct Trace: Hashable, Sendable {
  private var lanes = HashLanes(0, 0)

  package mutating func add(_ time: SimTime, _ peer: Int, _ kind: UInt64, _ bytes: [UInt8]) {
    lanes = lanes.combined(with: HashLanes(bytes.span.bytes, seed: kind))
    lanes = lanes.combined(with: HashLanes(UInt64(bitPattern: time), UInt64(peer), seed: kind))
  }

  package mutating func add(_ time: SimTime, _ peer: Int, _ kind: UInt64, _ number: UInt64) {
    lanes = lanes.combined(with: HashLanes(UInt64(bitPattern: time), number ^ UInt64(peer) << 56, seed: kind))
  }

  package var text: String { String(lanes.first ^ lanes.second, radix: 16) }
}
