#if Server
  import BigPeer
  import CRDTCore
  import Facade
  import Foundation
  import Logging
  import PeerControl
  import Synchronization

  /// A big peer as the victim: its HTTP listeners are attacked, and it syncs as any other peer.
  final class BigPeerVictim: Sendable {
    /// The keys that attackers have, and one for honest requests.
    private static let keyCount = 5

    let dunlin: Dunlin
    /// The ports of the listeners and the tokens of the keys, as an answer to who asks.
    let fields: [TextKey: Value]
    private let task: Task<Void, any Error>

    /// Starts a big peer in this process, and waits until it serves.
    ///
    /// - Parameters:
    ///   - store: The directory for its data.
    ///   - name: What it calls itself.
    /// - Returns: The big peer.
    /// - Throws: Why it does not start.
    static func start(at store: String, name: String) throws -> BigPeerVictim {
      let (done, result) = (DispatchSemaphore(value: 0), Box())
      Task {
        do {
          let victim = try await BigPeerVictim(at: store, name: name)
          result.value.withLock { $0 = .success(victim) }
        } catch {
          result.value.withLock { $0 = .failure(error) }
        }
        done.signal()
      }
      done.wait()
      guard let outcome = result.value.withLock({ $0 }) else {
        throw PeerError("the big peer has not started")
      }
      return try outcome.get()
    }

    private final class Box: Sendable {
      let value = Mutex<Result<BigPeerVictim, any Error>?>(nil)
    }

    private init(at store: String, name: String) async throws {
      var configuration = BigPeerConfiguration(data: store)
      var application = BigPeerConfiguration.Application(
        id: PeerCommand.appID, folder: store + "/application")
      application.name = name
      application.identity = .development
      // The row tells it to listen, as any other victim.
      application.devices = []
      application.pullsKnownCollections = false
      configuration.applications = [application]
      configuration.http.listen = ListenAddress(host: "127.0.0.1", port: 0)
      configuration.admin.listen = ListenAddress(host: "127.0.0.1", port: 0)
      let (starts, start) = AsyncStream.makeStream(of: BigPeerAddresses.self)
      let bigPeer = BigPeer(configuration, logger: Logger(label: "bigpeer")) { start.yield($0) }
      task = Task {
        defer { start.finish() }
        try await bigPeer.run()
      }
      var iterator = starts.makeAsyncIterator()
      guard let addresses = await iterator.next(), let hosted = bigPeer.applications?.all.first else {
        try await task.value
        throw PeerError("the big peer has no application")
      }
      dunlin = hosted.dunlin
      var tokens: [Value] = []
      for number in 0..<Self.keyCount {
        let made = try await hosted.keys.make(name: "key \(number)", right: .write, now: 0, expires: nil)
        tokens.append(.string(made.token))
      }
      fields = [
        "port": .int(Self.port(of: addresses.http)), "admin": .int(Self.port(of: addresses.admin)),
        "keys": .array(tokens),
      ]
    }

    private static func port(of address: String?) -> Int64 {
      address?.split(separator: ":").last.flatMap { Int64($0) } ?? 0
    }

    /// Stops it.
    func stop() { task.cancel() }
  }
#endif
