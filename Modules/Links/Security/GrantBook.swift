import NIOConcurrencyHelpers

/// The grants of peers that were met, so that their texts need not be sent at each connection.
///
/// All links of a network share one. It holds at most 256 grants and 1 MiB of texts. Beyond that those go
/// that were used least recently.
package final class GrantBook: Sendable {
  static let countLimit = 256
  static let byteLimit = 1 << 20

  private struct State {
    var kept: [GrantHash: (texts: GrantTexts, use: UInt64)] = [:]
    var byteCount = 0
    /// Rises with each use.
    var uses: UInt64 = 0
  }

  private let state = NIOLockedValueBox(State())

  /// Starts without grants.
  package init() {}

  /// The number of grants, and the bytes of their texts.
  package var size: (count: Int, byteCount: Int) {
    state.withLockedValue { ($0.kept.count, $0.byteCount) }
  }

  /// The texts with a hash, if they are kept.
  package func texts(of hash: GrantHash) -> GrantTexts? {
    state.withLockedValue { state in
      guard let texts = state.kept[hash]?.texts else { return nil }
      state.uses += 1
      state.kept[hash]?.use = state.uses
      return texts
    }
  }

  /// Keeps texts; the hash must be theirs.
  ///
  /// Takes time linear in the number of kept grants when it is full.
  package func keep(_ texts: GrantTexts, of hash: GrantHash) {
    state.withLockedValue { state in
      state.uses += 1
      if state.kept.updateValue((texts, state.uses), forKey: hash) == nil {
        state.byteCount += texts.byteCount
      }
      while state.kept.count > Self.countLimit || state.byteCount > Self.byteLimit,
        let oldest = state.kept.min(by: { $0.value.use < $1.value.use })
      {
        state.kept[oldest.key] = nil
        state.byteCount -= oldest.value.texts.byteCount
      }
    }
  }
}
