import CRDTCore
package import Logging
package import SyncProtocol

extension SyncEvent {
  /// The log line of an event, for applications that do not observe events.
  ///
  /// It never shows contents of documents.
  ///
  /// - Parameter peer: The name of the session's other end.
  /// - Returns: `nil` for events that are logged elsewhere.
  package func note(of peer: String) -> (level: Logger.Level, text: String)? {
    switch self {
    case .connected: nil
    case .caughtUp: (.debug, "All that \(peer) had for the subscriptions is here")
    case .oversize(let collection, let id, let byteCount):
      (
        .warning,
        """
        The document \(id.digest) of '\(collection)' stays here: with \(byteCount) bytes it is too large to be \
        sent to \(peer), which has nothing of it
        """
      )
    case .refused(let collection, let reason):
      (.warning, "Documents of '\(collection)' from \(peer) are not taken in: \(reason)")
    case .groupSplit(let documents, let byteCount):
      (
        .warning,
        """
        A transaction of \(documents) documents and \(byteCount) bytes, shared with \(peer), becomes visible in parts: it \
        is too large to be kept together
        """
      )
    case .damaged(let collection, let id):
      (
        .error,
        """
        \(id.map { "The document \($0.digest)" } ?? "A document") of '\(collection)' is damaged here and is not \
        sent to \(peer), which is not caught up: verify the store
        """
      )
    case .unreadable(let range):
      (
        .error,
        """
        Documents of '\(range.collection)'\(range.bounds) cannot be read here: they are neither sent to \(peer) nor taken in \
        from there, and it is not caught up; verify the store
        """
      )
    case .unreadableLog(let from, let to):
      (
        .error,
        """
        The log cannot be read here\(from.map { " from commit \($0) on" } ?? "")\(to.map { " up to commit \($0)" } ?? ""): \
        all is compared with \(peer), and these transactions may become visible in parts; verify the store
        """
      )
    case .unreadablePeer:
      (
        .warning,
        "\(peer) cannot read all of its store, or take all in: neither it nor this peer counts as caught up"
      )
    case .withheldByPeer(let documents):
      (
        .warning,
        """
        \(peer) keeps back \(documents) document\(documents == 1 ? "" : "s") too large to be sent: neither it nor this peer \
        counts as caught up
        """
      )
    case .groupsForgotten(let sequence):
      (
        .warning,
        "Transactions up to commit \(sequence) may become visible in parts at \(peer): they are too many"
      )
    case .wallClock: (.info, "\(peer) tells its wall clock, since the clock here is ahead")
    case .overflow: (.info, "Changes come faster than \(peer) takes them: it goes on from the log")
    }
  }
}

extension SyncEvent {
  /// The log lines, at level debug, of the documents that ``note(of:)`` names by their digests.
  package var digestLines: [String] {
    switch self {
    case .oversize(let collection, let id, _): [id.digestLine(in: collection)]
    case .damaged(let collection, let id): id.map { [$0.digestLine(in: collection)] } ?? []
    case .unreadable(let range):
      [range.from, range.to].compactMap { $0?.digestLine(in: range.collection) }
    default: []
    }
  }
}

extension UnreadableRange {
  /// The range of ids, in words.
  fileprivate var bounds: String {
    (from.map { " from \($0.digest) on" } ?? "") + (to.map { " up to \($0.digest)" } ?? "")
  }
}
