import Foundation
import Synchronization

/// A web back end at another address that writes a document every 50 ms, and measures how long each takes.
final class HonestWriter: Sendable {
  private struct State {
    var nanoseconds: [Int64] = []
    var lost = 0
    var isOver = false
  }

  private let state = Mutex(State())
  private let done = DispatchSemaphore(value: 0)

  /// Begins to write until ``stop()``.
  ///
  /// - Parameters:
  ///   - port: The port of the HTTP API.
  ///   - token: Its key.
  ///   - patience: Seconds that a write may take.
  init(port: Int, token: String, patience: Int) {
    Thread.detachNewThread { [self] in
      var socket = RawSocket(port: port, from: "127.0.0.2", seconds: patience)
      var number = 0
      while !state.withLock({ $0.isOver }) {
        number += 1
        let id = "\(UUID())-\(number)"
        let body = "{\"statement\":\"INSERT INTO beats DOCUMENTS ({'_id': '\(id)'})\"}"
        let start = DispatchTime.now().uptimeNanoseconds
        if socket == nil { socket = RawSocket(port: port, from: "127.0.0.2", seconds: patience) }
        socket?.write(FrontVictim.request(token: token, body))
        let isThere = socket?.readAnswer()?.status == 200
        let wait = Int64(DispatchTime.now().uptimeNanoseconds - start)
        state.withLock { state in
          if isThere { state.nanoseconds.append(wait) } else { state.lost += 1 }
        }
        if !isThere { socket = nil }
        usleep(50_000)
      }
      done.signal()
    }
  }

  /// The waits since the last call.
  func takeWaits() -> Waits {
    state.withLock { state in
      defer { (state.nanoseconds, state.lost) = ([], 0) }
      return Waits(nanoseconds: state.nanoseconds, lost: state.lost)
    }
  }

  /// Ends the writes, and waits for the last one.
  func stop() async {
    state.withLock { $0.isOver = true }
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        self.done.wait()
        continuation.resume()
      }
    }
  }
}
