#if Server
  import BenchmarkSupport
  import Foundation
  import Synchronization

  /// What many clients get who each wait for an answer before they ask again.
  struct HTTPLoad {
    let port: Int
    let token: String?
    let clients: Int
    let seconds: Double

    /// How long each answer took, in seconds, and how many came in a second.
    struct Outcome {
      let latencies: [Double]
      let perSecond: Double
    }

    private final class Results: Sendable {
      let latencies = Mutex<[Double]>([])
      let failure = Mutex<(any Error)?>(nil)
    }

    /// Runs the clients, each on a thread and a connection of its own.
    ///
    /// - Parameter request: The method, the path and the body of a client's next request.
    /// - Returns: What they got.
    /// - Throws: `BenchmarkError` when any of them got no answer or a bad one.
    func run(
      _ request: @escaping @Sendable (_ client: Int, _ number: Int) -> (String, String, String)
    ) throws -> Outcome {
      let results = Results()
      let done = DispatchSemaphore(value: 0)
      let start = Measures.nanoseconds
      let end = start + seconds * 1e9
      for client in 0..<clients {
        let thread = Thread { [self] in
          defer { done.signal() }
          do {
            let connection = try HTTPConnection(port: port, token: token)
            var latencies: [Double] = []
            var now = Measures.nanoseconds
            while now < end {
              let (method, path, body) = request(client, latencies.count)
              let begin = now
              try connection.send(method, path, body)
              now = Measures.nanoseconds
              latencies.append((now - begin) / 1e9)
            }
            let all = latencies
            results.latencies.withLock { $0 += all }
          } catch {
            results.failure.withLock { $0 = error }
          }
        }
        thread.start()
      }
      for _ in 0..<clients { done.wait() }
      if let failure = results.failure.withLock({ $0 }) { throw failure }
      let latencies = results.latencies.withLock { $0 }
      return Outcome(
        latencies: latencies, perSecond: Double(latencies.count) / ((Measures.nanoseconds - start) / 1e9))
    }
  }
#endif
