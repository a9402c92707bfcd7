import CRDTCore
import Foundation
import ScopePolicy
import SyncProtocol
import Testing

/// What earlier releases said, with each ability of theirs, is understood for ever; golden files are never made anew.
@Suite struct GoldenSessionTests {
  private static func golden(_ session: GoldenSession) throws -> [[UInt8]] {
    var links: [[UInt8]] = []
    while let url = Bundle.module.url(
      forResource: "session-\(session.name)-\(links.count + 1)-v1", withExtension: "bin",
      subdirectory: "Golden")
    {
      links.append([UInt8](try Data(contentsOf: url)))
    }
    return links
  }

  /// Plays a sender that says what it said then, frame by frame, to a receiver of now.
  ///
  /// - Returns: Whether the receiver understood it: it then holds what it was to hold.
  private static func replay(
    _ session: GoldenSession, _ links: [[UInt8]], without lacking: Features = []
  ) throws -> Bool {
    func configure(_ configuration: inout SessionConfiguration) {
      session.configure(&configuration)
      configuration.features.subtract(lacking)
    }
    var raw = try RawPeer(configure)
    try raw.peer.scopes.set(session.kept)
    try raw.peer.subscribe("SELECT * FROM things")
    var (types, replies) = (Set<FrameType>(), Set<FrameType>())
    for (place, recording) in links.enumerated() {
      // The link before is over by then, and the session with it.
      if place > 0 { raw = RawPeer(on: raw, configure) }
      raw.perform(raw.session.subscriptionsChanged(raw.peer.queries, now: raw.now))
      raw.start()
      var position = 0
      while let bounds = try FrameCodec.next(in: recording.span.bytes, at: position) {
        types.insert(try #require(FrameType(rawValue: bounds.type)))
        raw.receive(Array(recording[position..<bounds.end]))
        try raw.apply()
        raw.tick(after: .milliseconds(20))
        try raw.apply()
        if position == 0, let question = session.question {
          raw.perform(raw.session.ask(1, try QueryQuestion(question.text), now: raw.now))
        }
        position = bounds.end
      }
      guard raw.closed == nil else { return false }
      replies.formUnion(raw.frames.map(\.type))
      if place + 1 < links.count { raw.perform(raw.session.close(now: raw.now)) }
      try raw.apply()
    }
    #expect(types.isSuperset(of: session.types), "\(types)")
    if lacking == [] {
      #expect(types.union(replies).isDisjoint(with: session.foreign), "\(types) \(replies)")
    }
    if let question = session.question {
      guard raw.rows.count == question.rows, let end = raw.rowsEnd, end.error == nil else { return false }
    }
    return try replies.isSuperset(of: session.replies) && raw.peer.documents() == session.result()
  }

  @Test(arguments: GoldenSession.all)
  func `what version 1 said is understood`(_ session: GoldenSession) throws {
    let links = try Self.golden(session)
    try #require(!links.isEmpty)
    #expect(try Self.replay(session, links))
  }

  /// The control, and where the files came from.
  @Test(arguments: GoldenSession.all)
  func `what is said now is understood, and not without the ability`(_ session: GoldenSession) throws {
    let links = try session.record()
    for (place, link) in links.enumerated() {
      Attachment.record(link, named: "session-\(session.name)-\(place + 1)-v1.bin")
    }
    #expect(try Self.replay(session, links))
    // A peer that asks blindly says the same as one that asks for everything.
    let ability = session.features.subtracting([.compactFrames, .blindQuestions])
    if ability != [] { #expect(try !Self.replay(session, links, without: ability)) }
  }
}
