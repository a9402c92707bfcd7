#if TLS
  /// What follows the introductions on a connection until each end has the other's grant.
  ///
  /// An end whose peer's certificate has a grant says whether it keeps the texts from an earlier connection,
  /// in one byte behind its introduction. If it does not, the peer sends them. So certificates without a
  /// grant cost no byte, and known grants one.
  struct GrantHandover {
    /// The byte of an end that needs the texts.
    static let wanted: UInt8 = 0
    /// The byte of an end that keeps them.
    static let kept: UInt8 = 1

    /// The peer, with its grant once that is known.
    private(set) var peer: ProvenPeer
    /// Whether the peer needs nothing more of this end's grant.
    private var isShown: Bool

    /// Begins with a peer that has introduced itself.
    ///
    /// - Parameters:
    ///   - peer: The peer, with its grant if that was kept.
    ///   - isShown: Whether this end has no grant to show.
    init(peer: ProvenPeer, isShown: Bool) {
      self.peer = peer
      self.isShown = isShown
    }

    /// Whether both ends have what they need.
    var isComplete: Bool { isShown && (peer.identity.grantHash == nil || peer.grant != nil) }

    /// Processes received bytes, and removes those of the handover.
    ///
    /// - Returns: Whether the peer wants this end's texts now.
    /// - Throws: `LinkError` with code `credentials`, saying what is wrong with what the peer sends.
    mutating func take(_ bytes: inout ArraySlice<UInt8>) throws(LinkError) -> Bool {
      var isWanted = false
      if !isShown, let answer = bytes.popFirst() {
        guard [Self.wanted, Self.kept].contains(answer) else {
          throw LinkError(.credentials, "It does not say whether it keeps this peer's grant")
        }
        (isShown, isWanted) = (true, answer == Self.wanted)
      }
      // The peer's answer comes before its texts.
      if isShown, let hash = peer.identity.grantHash, peer.grant == nil {
        peer.grant = try GrantTexts.read(&bytes, hash: hash)
      }
      return isWanted
    }
  }
#endif
