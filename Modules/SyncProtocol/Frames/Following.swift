package import CRDTCore

/// A receiver's request to resume from its checkpoint in the sender's log.
package struct ResumeFrame: Hashable, Sendable {
  /// The generation of the interest from now on.
  package var generation: UInt64
  /// The hash of the interest, which the sender may have cached.
  package var interest: UInt64
  /// The sequence in the sender's log up to which the receiver has everything that concerns it.
  package var sequence: UInt64
  /// The low word of the commit's id at that position: a log that was restored and continued has another one.
  package var commitCheck: UInt32
  /// The policy under which the log was followed; see ``check(policy:)``.
  package var policyCheck: UInt32
  /// The time from the sender's last write that the receiver has to the timestamp in the sender's hello.
  ///
  /// In milliseconds. A receiver sets it if it gets changes from no other peer. The sender then pushes its
  /// later writes without a request.
  package var lag: UInt64?

  package init(
    generation: UInt64, interest: UInt64, sequence: UInt64, commitCheck: UInt32, policyCheck: UInt32,
    lag: UInt64? = nil
  ) {
    self.generation = generation
    self.interest = interest
    self.sequence = sequence
    self.commitCheck = commitCheck
    self.policyCheck = policyCheck
    self.lag = lag
  }

  /// Returns a check of the policy under which the log was followed; another policy has another check.
  package static func check(policy: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: HashLanes(policy, 0, seed: 1).first)
  }

  /// Returns how far a timestamp is behind another, in milliseconds; 0 if it is not behind.
  package static func lag(of met: ClockReading, behind highest: ClockReading) -> UInt64 {
    highest.milliseconds - min(met.milliseconds, highest.milliseconds)
  }

  /// Returns the last HLC timestamp in the millisecond that is `lag` behind `highest`.
  ///
  /// The receiver may lack later writes of that millisecond, and requests them.
  package static func met(_ lag: UInt64, behind highest: ClockReading) -> ClockReading {
    let end = ClockReading(milliseconds: highest.milliseconds - min(lag, highest.milliseconds) + 1)
    return ClockReading(rawValue: end.rawValue - 1)
  }

  package func encode(to out: inout ByteWriter) {
    out.writeVarint(generation)
    out.writeFixed(interest)
    out.writeVarint(sequence)
    out.writeFixed(commitCheck)
    out.writeFixed(policyCheck)
    if let lag { out.writeVarint(lag) }
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    generation = try reader.readVarint()
    interest = try reader.readFixed()
    sequence = try reader.readVarint()
    commitCheck = try reader.readFixed()
    policyCheck = try reader.readFixed()
    lag = reader.isAtEnd ? nil : try reader.readVarint()
  }
}

/// What a peer has seen of a store's own site, so that the store can detect a clone.
package struct SeenFrame: Hashable, Sendable {
  /// A position in the store's log, as it was when the peer followed it.
  package struct Place: Hashable, Sendable {
    package var sequence: UInt64
    /// The low word of the commit's id at that position.
    package var commitCheck: UInt32

    package init(sequence: UInt64, commitCheck: UInt32) {
      self.sequence = sequence
      self.commitCheck = commitCheck
    }
  }

  /// The highest HLC timestamp of the site, if it is above the one in the store's hello.
  package var reading: ClockReading?
  /// The peer's checkpoint in the store's log, if the peer does not resume from it.
  package var place: Place?
  /// The peer's wall clock in milliseconds since 1970; whole seconds are sent.
  ///
  /// It is sent if the store's clock seems to be ahead and the peer has no sign that its own clock is wrong.
  package var wallTime: UInt64?

  package init(reading: ClockReading?, place: Place?, wallTime: UInt64? = nil) {
    self.reading = reading
    self.place = place
    self.wallTime = wallTime
  }

  var isEmpty: Bool { reading == nil && place == nil && wallTime == nil }

  package func encode(to out: inout ByteWriter) {
    out.writeFixed(reading?.rawValue ?? 0)
    guard place != nil || wallTime != nil else { return }
    // No log has a position 0.
    out.writeVarint(place?.sequence ?? 0)
    out.writeFixed(place?.commitCheck ?? 0)
    if let wallTime { out.writeVarint(wallTime / 1_000) }
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    let reading: UInt64 = try reader.readFixed()
    self.reading = reading == 0 ? nil : ClockReading(rawValue: reading)
    guard !reader.isAtEnd else { return }
    let place = Place(sequence: try reader.readVarint(), commitCheck: try reader.readFixed())
    self.place = place.sequence > 0 ? place : nil
    guard !reader.isAtEnd else { return }
    let (time, isTooLarge) = try reader.readVarint().multipliedReportingOverflow(by: 1_000)
    guard !isTooLarge else { throw reader.failure(.malformed, "the wall clock is out of range") }
    wallTime = time
  }
}

/// A sender's answer to a request to resume.
package struct ResumedFrame: Hashable, Sendable {
  package enum Verdict: UInt8, Hashable, Sendable {
    /// Everything that the receiver may lack since its checkpoint follows.
    case follows = 0
    /// The interest is not cached: the receiver has to send it, and to ask again.
    case unknownInterest = 1
    /// The log does not go back to the checkpoint, or is another one: the receiver has to reconcile.
    case restart = 2
  }

  package var generation: UInt64
  package var verdict: Verdict
  /// The last sequence that the following data covers; 0 if nothing follows.
  package var sequence: UInt64

  package init(generation: UInt64, verdict: Verdict, sequence: UInt64 = 0) {
    self.generation = generation
    self.verdict = verdict
    self.sequence = sequence
  }

  package func encode(to out: inout ByteWriter) {
    out.writeVarint(generation)
    out.write(verdict.rawValue)
    out.writeVarint(sequence)
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    generation = try reader.readVarint()
    guard let verdict = Verdict(rawValue: try reader.readByte()) else {
      throw reader.failure(.malformed, "an answer to a cursor is of an unknown kind")
    }
    self.verdict = verdict
    sequence = try reader.readVarint()
  }
}

/// A sender's high-water mark: everything that concerns the receiver up to a sequence has been sent.
package struct MarkFrame: Hashable, Sendable {
  package var sequence: UInt64
  /// The low word of the commit's id at that position.
  package var commitCheck: UInt32
  /// The fingerprint of what the sender may send to such a peer.
  package var policyHash: UInt64
  /// How many of the receiver's `want` and `have` frames in the session have been answered completely.
  package var asksReceived: UInt64

  package init(sequence: UInt64, commitCheck: UInt32, policyHash: UInt64, asksReceived: UInt64) {
    self.sequence = sequence
    self.commitCheck = commitCheck
    self.policyHash = policyHash
    self.asksReceived = asksReceived
  }

  package func encode(to out: inout ByteWriter) {
    out.writeVarint(sequence)
    out.writeFixed(commitCheck)
    out.writeFixed(policyHash)
    out.writeVarint(asksReceived)
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    sequence = try reader.readVarint()
    commitCheck = try reader.readFixed()
    policyHash = try reader.readFixed()
    asksReceived = try reader.readVarint()
  }
}
