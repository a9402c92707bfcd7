#if Server
  package import CRDTCore
  import Facade
  import Foundation
  import Logging
  import SyncProtocol
  import Transports

  /// The devices that have not confirmed an erasure, as far as the server knows of them.
  package struct UnconfirmedDevices: Sendable {
    /// How long an answer waits for connected devices to confirm.
    static let patience = Duration.seconds(1)
    /// The greatest number of devices that an answer names.
    private static let nameLimit = 1_000

    /// Devices that are connected, or were since the start.
    fileprivate let met: [PeerSyncState]
    /// Devices that have logged in and were not connected since the start.
    ///
    /// `nil` if the audit log of logins cannot be read.
    fileprivate let unmet: [IssuedDevice]?

    /// The number of these devices.
    package var count: Int { met.count + (unmet?.count ?? 0) }

    /// Whether devices that have only logged in are among them.
    package var areLoginsCounted: Bool { unmet != nil }

    /// The members of an answer to an erasure, without the names of devices.
    ///
    /// A client with an API key gets no more: which users and devices there are is for the administrator.
    var counts: [TextKey: Value] {
      [
        "unconfirmedCount": .count(count), "areLoginsCounted": .bool(areLoginsCounted),
        "limits": .string(DunlinErasure.limits),
      ]
    }

    /// The first of the devices, for the administrator.
    package var names: [Value] {
      let first = met.prefix(Self.nameLimit).map(\.name)
      let others = (unmet ?? []).prefix(Self.nameLimit - first.count).map(\.name)
      return (first + others).map { .map($0) }
    }
  }

  extension HostedApplication {
    /// Finds the devices that have not confirmed a commit.
    ///
    /// The commit is made by then, so nothing here is an error. What cannot be read is logged.
    /// - Parameters:
    ///   - sequence: The commit.
    ///   - patience: The longest time to wait for connected devices.
    ///   - audit: The audit log of logins, if it is not that of the application.
    /// - Returns: The devices. One that pulls nothing is not waited for, and not among them.
    /// - Complexity: O(*n*) in the devices that are known, for each 20 milliseconds of the wait.
    package func unconfirmedDevices(
      of sequence: UInt64, waiting patience: Duration = .zero, logins audit: LoginAudit? = nil
    ) async -> UnconfirmedDevices {
      let end = ContinuousClock.now + patience
      while dunlin.parts.network.standings.lacking(sequence).contains(where: \.isConnected),
        ContinuousClock.now < end, !Task.isCancelled
      {
        try? await Task.sleep(for: .milliseconds(20))
      }
      var issued: [IssuedDevice]?
      do {
        issued = try await (audit ?? logins.audit).devices(at: Date())
      } catch {
        logger.error(
          "Devices that have logged in and not confirmed an erasure cannot be named: the audit log of logins cannot be read: \(error)"
        )
      }
      let standings = dunlin.parts.network.standings
      let known = Set(standings.compactMap { $0.connection.identity.map { "\($0.key)" } })
      return UnconfirmedDevices(
        met: standings.lacking(sequence), unmet: issued?.filter { !known.contains($0.deviceKey) })
    }
  }

  extension IssuedDevice {
    fileprivate var name: [TextKey: Value] {
      [
        "deviceKey": .string(deviceKey), "user": user.map { .string($0) } ?? .null,
        "isConnected": .bool(false),
      ]
    }
  }

  extension [PeerSyncState] {
    /// The latest state of each peer that pulls and has not confirmed a commit.
    ///
    /// A peer that has left and come back is here twice, and may have confirmed the commit at either time.
    fileprivate func lacking(_ sequence: UInt64) -> [PeerSyncState] {
      let confirmed = Set(lazy.filter { $0.delivery.servedSequence ?? 0 >= sequence }.map(\.peer.site))
      var seen = confirmed
      return reversed().filter { seen.insert($0.peer.site).inserted && !$0.delivery.pullsNothing }.reversed()
    }
  }

  extension PeerSyncState {
    fileprivate var name: [TextKey: Value] {
      [
        "id": .string(peer.site.description), "name": .string(peer.name),
        "user": connection.identity?.user.map { .string($0) } ?? .null, "isConnected": .bool(isConnected),
      ]
    }
  }
#endif
