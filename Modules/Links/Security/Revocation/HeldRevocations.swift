#if TLS
  import Foundation

  /// The revocation list of one issuer that a peer holds.
  package struct HeldRevocations: Hashable, Sendable {
    package var list: RevocationList
    /// Entries of former lists of the issuer that the list does not have, and that are still needed.
    ///
    /// There are some where an issuer's key was used at two places at once, or was stolen: entries only add.
    package var kept: [RevocationEntry] = []
    /// Whether the application's authority itself has issued the list; `nil` if the list is not believed.
    var isByRoot: Bool?

    package init(list: RevocationList, kept: [RevocationEntry] = []) {
      (self.list, self.kept) = (list, kept)
    }

    package var issuer: AuthorityHash { list.head.issuer }

    var count: Int { list.head.count + kept.count }

    /// Combines this list with another one of the same issuer.
    ///
    /// The head with the higher number becomes the list. Of two with one number it is that with the greater
    /// digest, at each peer the same. Entries of the other one are kept.
    ///
    /// - Returns: `nil` if the other one has a lower number and nothing changes.
    func merged(with other: RevocationList, at time: Date) -> HeldRevocations? {
      guard other.head != list.head, other.head.number >= list.head.number else { return nil }
      let isNext =
        other.head.number > list.head.number
        || list.head.digest.lexicographicallyPrecedes(other.head.digest)
      var merged = self
      if isNext { merged.list = other }
      if isNext, kept.isEmpty, other.extends(list) { return merged }
      var known = Set(merged.list.entries)
      let former = isNext ? list.entries : other.entries
      merged.kept = (kept + former).filter { $0.isNeeded(at: time) && known.insert($0).inserted }
      return merged.kept == kept && !isNext ? nil : merged
    }
  }

  /// A revocation list that this peer has refused.
  package struct RefusedRevocations: Hashable, Sendable {
    package let issuer: AuthorityHash
    package let number: UInt64
    package let error: LinkError
  }

  /// What a peer says of the revocation lists that it holds.
  package struct RevocationStatus: Hashable, Sendable {
    /// One list.
    package struct List: Hashable, Sendable {
      package let issuer: AuthorityHash
      /// Whether the application's authority itself has issued it.
      package let isByRoot: Bool
      package let number: UInt64
      package let count: Int
    }

    package var lists: [List] = []
    /// The last list of each issuer that was refused, with the reason.
    package var refused: [RefusedRevocations] = []
  }
#endif
