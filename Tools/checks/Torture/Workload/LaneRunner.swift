import CRDTCore
import DocStore
import Glibc

/// Ways to do it wrong on purpose.
enum Defect: String {
  case none
  /// Acknowledges a transaction before it is committed.
  case earlyAcknowledgement
  /// Commits the parts of one transaction one by one.
  case split
}

/// One lane at work: runs its transactions one after the other and acknowledges each once it is durable.
struct LaneRunner {
  var lane: Lane
  let store: Store
  let defect: Defect
  /// Told the lane's number and the transaction's.
  let acknowledge: @Sendable (Int, Int, CommitReceipt) -> Void

  private struct Discarded: Error {}

  /// Runs the next transaction.
  mutating func step() throws {
    let operations = lane.next()
    let (number, count) = (lane.number, lane.count)
    if count % 6 == 0 { try runInVain(operations) }
    let acknowledge = acknowledge
    switch defect {
    case .none:
      let (_, receipt) = try store.write { tx in
        for operation in operations { try tx.perform(operation) }
        try SideEntries.write(number, count, in: tx)
      }
      acknowledge(number, count, receipt)
    case .earlyAcknowledgement:
      try store.write { tx in
        for operation in operations { try tx.perform(operation) }
        try SideEntries.write(number, count, in: tx)
        acknowledge(number, count, CommitReceipt())
      }
    case .split:
      for operation in operations { try store.write { try $0.perform(operation) } }
      try store.write { try SideEntries.write(number, count, in: $0) }
      acknowledge(number, count, CommitReceipt())
    }
  }

  /// A transaction that is rolled back must leave nothing behind.
  private func runInVain(_ operations: [Operation]) throws {
    do {
      try store.write { tx in
        for operation in operations { try tx.perform(operation) }
        try SideEntries.write(lane.number, lane.count, in: tx)
        try tx.upsert(["vain": .bool(true)], id: DocumentID("vain-\(lane.number)"), into: "vain")
        throw Discarded()
      }
    } catch is Discarded {}
  }
}

/// A thread that is joined before it is forgotten.
struct LaneThread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  private let handle: pthread_t

  init(_ body: @escaping @Sendable () -> Void) throws {
    let context = Unmanaged.passRetained(Body(body))
    var handle: pthread_t = 0
    let code = pthread_create(
      &handle, nil,
      { context in
        if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      }, context.toOpaque())
    guard code == 0 else { throw Failure(.harness, "no thread: \(code)") }
    self.handle = handle
  }

  func join() { pthread_join(handle, nil) }
}
