package import CRDTCore

/// A receiver asks to go on where its cursor stands in the sender's log.
package struct ResumeFrame: Hashable, Sendable {
  /// The number of the interest from now on.
  package var generation: UInt64
  /// Names the interest, which the sender may remember.
  package var interest: UInt64
  /// The sender's sequence up to which the receiver has all that concerns it.
  package var sequence: UInt64
  /// The low word of the id of the sender's commit there: a log that was put back, and went on, has another one.
  package var commitCheck: UInt32
  /// See ``check(policy:)``.
  package var policyCheck: UInt32
  /// How many milliseconds before what the sender said of its clock in its hello the last of its writes was that the
  /// receiver has met.
  ///
  /// Told by who gets changes from nobody else: what the sender has written since it is to be sent unasked.
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

  /// Stands for the policy under which the log was followed: one that withheld something else has another one.
  package static func check(policy: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: HashLanes(policy, 0, seed: 1).first)
  }

  /// The lag of a reading; 0 where it is not behind the other.
  package static func lag(of met: ClockReading, behind highest: ClockReading) -> UInt64 {
    highest.milliseconds - min(met.milliseconds, highest.milliseconds)
  }

  /// The last reading of the millisecond that is so far behind: what was written later within it the receiver may lack,
  /// and asks for.
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

/// What a peer has met of a site, told to a store that writes as that site: it can tell whether it has written that itself.
package struct SeenFrame: Hashable, Sendable {
  /// A place in the log of the store, as it was when the peer followed it.
  package struct Place: Hashable, Sendable {
    package var sequence: UInt64
    /// The low word of the id of the commit there.
    package var commitCheck: UInt32

    package init(sequence: UInt64, commitCheck: UInt32) {
      self.sequence = sequence
      self.commitCheck = commitCheck
    }
  }

  /// The highest reading of the site, where that is above the one in the store's hello.
  package var reading: ClockReading?
  /// How far the peer has followed the store's log, where it does not go on from there.
  package var place: Place?

  package init(reading: ClockReading?, place: Place?) {
    self.reading = reading
    self.place = place
  }

  package func encode(to out: inout ByteWriter) {
    out.writeFixed(reading?.rawValue ?? 0)
    guard let place else { return }
    out.writeVarint(place.sequence)
    out.writeFixed(place.commitCheck)
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    let reading: UInt64 = try reader.readFixed()
    self.reading = reading == 0 ? nil : ClockReading(rawValue: reading)
    place =
      reader.isAtEnd ? nil : Place(sequence: try reader.readVarint(), commitCheck: try reader.readFixed())
  }
}

/// A sender says whether it goes on from a receiver's cursor.
package struct ResumedFrame: Hashable, Sendable {
  package enum Verdict: UInt8, Hashable, Sendable {
    /// What the receiver may lack since its cursor follows.
    case follows = 0
    /// The interest is not known here: the receiver is to send it, and to ask again.
    case unknownInterest = 1
    /// The log no longer goes back to the cursor, or is another one: the receiver is to compare.
    case restart = 2
  }

  package var generation: UInt64
  package var verdict: Verdict
  /// The sender's sequence through which what follows goes; 0 where nothing follows.
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

/// A sender says that all that concerns the receiver up to a sequence has gone out.
package struct MarkFrame: Hashable, Sendable {
  package var sequence: UInt64
  /// The low word of the id of the commit there.
  package var commitCheck: UInt32
  /// Stands for what the sender may send to such a peer.
  package var policyPrint: UInt64
  /// How many of the receiver's wants and haves, as frames of the session, have been answered with all there is.
  package var asksTaken: UInt64

  package init(sequence: UInt64, commitCheck: UInt32, policyPrint: UInt64, asksTaken: UInt64) {
    self.sequence = sequence
    self.commitCheck = commitCheck
    self.policyPrint = policyPrint
    self.asksTaken = asksTaken
  }

  package func encode(to out: inout ByteWriter) {
    out.writeVarint(sequence)
    out.writeFixed(commitCheck)
    out.writeFixed(policyPrint)
    out.writeVarint(asksTaken)
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    sequence = try reader.readVarint()
    commitCheck = try reader.readFixed()
    policyPrint = try reader.readFixed()
    asksTaken = try reader.readVarint()
  }
}
