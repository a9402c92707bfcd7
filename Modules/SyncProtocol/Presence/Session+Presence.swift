import CRDTCore

extension Session {
  /// Sets the presence that this peer publishes from now on; the other peer gets it on request.
  package func tellPresence(_ own: SignedPresence, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      ownPresence = own
      if case .open = state { presence.tell(own) }
    }
  }

  /// Starts or stops observing the other peer's presence, which arrives as ``Action/presence(_:)``.
  package func observePresence(_ observes: Bool, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      observesPresence = observes
      if case .open = state { presence.observe(observes) }
    }
  }

  /// Publishes and requests presence as set before the session was open.
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
