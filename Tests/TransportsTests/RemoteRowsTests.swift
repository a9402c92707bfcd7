import Synchronization
import Testing

@testable import Transports

/// What a peer that answers a statement is told of how much of it has been taken.
@Suite struct RemoteRowsTests {
  @Test func `a peer that sends little ahead is told as soon as nothing waits`() {
    let told = Mutex<[UInt64]>([])
    let buffer = RemoteRowsBuffer { taken in
      told.withLock { $0.append(taken) }
    } onStop: {
    }
    // Parts of one row that is longer than what a slow link's sender sends ahead.
    buffer.add([], received: 512)
    buffer.add([], received: 512)
    buffer.add([], received: 1_024)
    #expect(told.withLock { $0 } == [512, 1_024])
    buffer.stop()
    buffer.add([], received: 1_536)
    #expect(told.withLock { $0 } == [512, 1_024])
  }
}
