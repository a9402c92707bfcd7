import CRDTCore

extension Session {
  /// Takes what this peer says of itself from now on; the other is told where it asks.
  package func tellPresence(_ own: SignedPresence, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      ownPresence = own
      if case .open = state { presence.tell(own) }
    }
  }

  /// Begins or ends to ask what the other peer says of itself, which comes as ``Action/presence(_:)``.
  package func observePresence(_ observes: Bool, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      observesPresence = observes
      if case .open = state { presence.observe(observes) }
    }
  }

  /// Says and asks what was to be said and asked before the peers had met.
  func beginPresence() {
    if let ownPresence { presence.tell(ownPresence) }
    presence.observe(observesPresence)
  }

  func takePresence(_ type: FrameType, _ reader: inout ByteReader) throws(FrameFailure) {
    guard type == .presence else {
      let wanted = try whole(&reader) { (reader) throws(CodecError) -> PeerPresence.Version? in
        guard try reader.readFlag() else { return nil }
        return PeerPresence.Version(start: try reader.readVarint(), number: try reader.readVarint())
      }
      return presence.take(wanted: wanted)
    }
    let signed = try whole(&reader) { (reader) throws(CodecError) in try SignedPresence(from: &reader) }
    try run { () throws(SyncError) in try presence.take(signed) }
  }
}
