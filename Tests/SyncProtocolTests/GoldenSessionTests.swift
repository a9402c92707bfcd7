import CRDTCore
import Foundation
import ScopePolicy
import TestKit
import Testing

@testable import SyncProtocol

/// What earlier releases said is understood for ever; golden files are never made anew.
@Suite struct GoldenSessionTests {
  private static func golden(_ session: GoldenSession, _ end: String = "session") throws -> [[UInt8]] {
    var links: [[UInt8]] = []
    while let url = Bundle.module.url(
      forResource: "\(end)-\(session.name)-\(links.count + 1)-v2", withExtension: "bin",
      subdirectory: "Golden")
    {
      links.append([UInt8](try Data(contentsOf: url)))
    }
    return links
  }

  /// Plays a sender that says what it said then, frame by frame, to a receiver of now.
  ///
  /// - Returns: Whether the receiver understood it: it then holds what it was to hold.
  private static func replay(_ session: GoldenSession, _ links: [[UInt8]]) throws -> Bool {
    var raw = try RawPeer(session.configure)
    try raw.peer.scopes.set(session.kept)
    try raw.peer.subscribe("SELECT * FROM things")
    var (types, replies) = (Set<FrameType>(), Set<FrameType>())
    for (place, recording) in links.enumerated() {
      // The link before is over by then, and the session with it.
      if place > 0 { raw = RawPeer(on: raw, session.configure) }
      raw.perform(raw.session.subscriptionsChanged(raw.peer.queries, now: raw.now))
      raw.start()
      var position = 0
      while let bounds = try FrameCodec.bounds(in: recording.span.bytes, at: position) {
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
    #expect(types.union(replies).isDisjoint(with: session.foreign), "\(types) \(replies)")
    if let question = session.question {
      guard raw.rows.count == question.rows, let end = raw.rowsEnd, end.error == nil else { return false }
    }
    return try replies.isSuperset(of: session.replies) && raw.peer.documents() == session.result()
  }

  @Test(arguments: GoldenSession.all)
  func `what version 2 said is understood`(_ session: GoldenSession) throws {
    let links = try Self.golden(session)
    try #require(!links.isEmpty)
    #expect(try Self.replay(session, links))
  }

  /// Where the files came from.
  @Test(arguments: GoldenSession.all)
  func `what is said now is understood`(_ session: GoldenSession) throws {
    let recording = try session.record()
    let links = recording.sender
    for (place, link) in links.enumerated() {
      Attachment.record(link, named: "session-\(session.name)-\(place + 1)-v2.bin")
    }
    for (place, link) in recording.receiver.enumerated() {
      Attachment.record(link, named: "receiver-\(session.name)-\(place + 1)-v2.bin")
    }
    #expect(try Self.replay(session, links))
    if !session.isForwarded { try Self.serve(session, recording.receiver) }
  }

  /// Plays a receiver that says what it said then, frame by frame, to a sender of now.
  ///
  /// What it acknowledged then is not what it would now: in place of that stands what the sender has sent.
  private static func serve(_ session: GoldenSession, _ links: [[UInt8]]) throws {
    var raw = try RawPeer(named: "sender", session.configure)
    try session.fill(raw.peer)
    var replies: Set<FrameType> = []
    for (place, recording) in links.enumerated() {
      if place > 0 {
        raw = RawPeer(on: raw, session.configure)
        try session.change(raw.peer)
        _ = raw.peer.takeCommits()
      }
      raw.start()
      var position = 0
      var number: UInt32 = 0
      while let bounds = try FrameCodec.bounds(in: recording.span.bytes, at: position) {
        let type = try #require(FrameType(rawValue: bounds.type))
        replies.insert(type)
        // It says so once the sender has told it.
        if type == .renewed {
          try session.change(raw.peer)
          raw.perform(raw.session.committed(raw.peer.takeCommits(), now: raw.now))
        }
        if type == .acknowledge {
          var sent = raw.session.pusher.queue.window.sent
          sent.room = UInt64(SyncLimits.creditBytes)
          var frame = FrameCodec.frame(.acknowledge) { sent.encode(to: &$0) }
          FrameCodec.number(&frame, as: number)
          raw.receive(frame)
        } else {
          raw.receive(Array(recording[position..<bounds.end]))
        }
        raw.tick(after: .milliseconds(20))
        position = bounds.end
        if type != .hello { number += 1 }
      }
      expect(raw.closed == nil, "\(session.name): \(raw.closed as Any)")
      expect(raw.frames.contains { $0.type == .settled || $0.type == .resumed }, "\(session.name)")
    }
    #expect(replies.isSuperset(of: session.replies))
  }

  // Where another peer writes, nobody is there to write it to this sender.
  @Test(arguments: GoldenSession.all.filter { !$0.isForwarded })
  func `what a receiver of version 2 said is understood`(_ session: GoldenSession) throws {
    let links = try Self.golden(session, "receiver")
    try #require(!links.isEmpty)
    try Self.serve(session, links)
  }
}
