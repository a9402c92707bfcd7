import CRDTCore
import Failpoints
import SyncProtocol
import TestKit
import Testing

/// A link that brings whole frames twice, in another order or not at all is found out by their checksums.
@Suite struct NumberedFramesTests {
  /// What a link does to frames.
  enum Fault: CaseIterable {
    case repeated, swapped, dropped
  }

  private let network = TestNetwork(seed: 3)

  /// One peer changes what another one asks for; the link repeats, swaps or drops the change's frame.
  ///
  /// - Returns: Why the receiver's session ended.
  private func play(_ fault: Fault) throws -> SyncError.Code? {
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    try b.subscribe("SELECT * FROM things")
    try a.put("x", ["n": .int(0)])
    let (_, end) = try network.connect(a, b)
    try network.settle()
    spoil(fault, from: a)
    for number in 1...2 as ClosedRange<Int64> {
      try a.put("x", ["n": .int(number)])
      try network.settle()
    }
    return end.closed?.code
  }

  private func spoil(_ fault: Fault, from a: TestPeer) {
    var held: [UInt8]?
    var isDone = false
    network.onSend = { end, frame in
      guard end.peer === a, !isDone else { return }
      if let first = held {
        end.outbound += first
        isDone = true
      } else if FrameType(of: frame) == .fragment {
        switch fault {
        case .repeated: end.outbound += frame
        case .dropped: end.outbound.removeLast(frame.count)
        case .swapped:
          end.outbound.removeLast(frame.count)
          held = frame
        }
        isDone = fault != .swapped
      }
    }
  }

  @Test(arguments: Fault.allCases)
  func `a frame out of its place ends the session`(fault: Fault) throws {
    #expect(try play(fault) == .checksum)
  }

  /// The control.
  @Test func `no checksum of a frame that is not numbered tells that it comes twice`() throws {
    let plan = FailpointPlan(planting: [SyncDefect.framesNotNumbered])
    #expect(try plan.run { try play(.repeated) } != .checksum)
  }
}
