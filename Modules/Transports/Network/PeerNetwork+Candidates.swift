import CRDTCore
public import Links
import Logging
import NIOConcurrencyHelpers

/// Candidates: peers that may be reachable.
extension PeerNetwork {
  /// Takes a candidate, and connects to it while the network runs, until it is withdrawn.
  ///
  /// A candidate replaces the former one with the same id. At most 256 are kept.
  public func offer(_ candidate: PeerCandidate) {
    state.withLockedValue { $0.candidates.record(candidate, from: .application, now: setup.clock.now) }
    candidateWake.signal()
  }

  /// Withdraws a candidate of the application: it is no longer dialed, and a connection with it stays.
  public func withdraw(candidate id: String) {
    state.withLockedValue { $0.candidates.withdraw(id, from: .application) }
    candidateWake.signal()
  }

  /// Finds out which candidates are a peer that has just been met.
  ///
  /// There are two if the peer has restarted without a goodbye.
  func recognize(_ site: SiteID) {
    let (secret, unknown) = state.withLockedValue {
      ($0.discovery?.secret, $0.candidates.unknownInstances)
    }
    guard let secret else { return }
    let own = unknown.filter { secret.isInstance($0, of: site) }
    guard !own.isEmpty else { return }
    state.withLockedValue { state in
      for instance in own { state.candidates.record(instance: instance, of: site) }
    }
    candidateWake.signal()
  }

  /// Dials a candidate, and waits until the attempt or its connection is over.
  func dial(_ attempt: CandidateBook.Attempt) async {
    let session = await connect(to: attempt.candidate)
    state.withLockedValue { state in
      state.candidates.record(
        endOf: attempt.key, site: session?.site,
        wasOfUse: session?.wasOfUse(options.candidateBackoff) ?? false,
        now: setup.clock.now)
    }
    candidateWake.signal()
  }

  /// Connects to a candidate, and waits until the attempt or its connection is over.
  private func connect(to candidate: PeerCandidate) async -> ServedSession? {
    guard let dialer = LinkSchemes.standard.dialer(to: candidate, options.tcp) else { return nil }
    do throws(LinkError) {
      let link = try await dialer.dial()
      guard let (session, task) = serve(link, .outgoing) else { return nil }
      await task.value
      return session
    } catch {
      // Anybody on the network can name any address as a candidate, and could fill the log.
      options.logger.debug("\(error.message)")
      return nil
    }
  }
}
