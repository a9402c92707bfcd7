import CRDTCore
import Logging
import SyncProtocol
import TestKit
import Testing
import Transports

/// What the log says of a session's events.
@Suite struct SyncEventNoteTests {
  static func cases() throws -> [(SyncEvent, Logger.Level, [String])] {
    [
      (
        .oversize(collection: "files", id: try DocumentID("film"), byteCount: 6_000_000), .warning,
        [try DocumentID("film").digest, "'files'", "6000000", "tablet"]
      ),
      (
        .refused(collection: "notes", reason: "its scope keeps it here"), .warning,
        ["'notes'", "its scope keeps it here", "tablet"]
      ),
      (
        .groupSplit(documents: 12, byteCount: 300_000_000), .warning,
        ["12", "300000000", "in parts", "tablet"]
      ),
      (
        .damaged(collection: "cars", id: try DocumentID("7")), .error,
        [try DocumentID("7").digest, "'cars'", "verify", "tablet"]
      ),
      (.damaged(collection: "cars", id: nil), .error, ["A document", "'cars'", "verify", "tablet"]),
      (
        .unreadable(UnreadableRange(collection: "cars", from: try DocumentID("7"), to: try DocumentID("9"))),
        .error,
        [
          "'cars'", "from \(try DocumentID("7").digest) on", "up to \(try DocumentID("9").digest)", "verify",
          "tablet",
        ]
      ),
      (.unreadable(UnreadableRange(collection: "cars")), .error, ["Documents of 'cars' cannot", "tablet"]),
      (.unreadableLog(from: 4, to: 9), .error, ["from commit 4 on", "up to commit 9", "in parts", "tablet"]),
      (.unreadablePeer, .warning, ["tablet", "cannot read"]),
      (.groupsForgotten(through: 41), .warning, ["41", "in parts", "tablet"]),
      (.overflow, .info, ["tablet", "from the log"]),
      (.caughtUp(generation: 2), .debug, ["tablet", "is here"]),
    ]
  }

  @Test(arguments: try cases())
  func `names the peer and what is concerned`(event: SyncEvent, level: Logger.Level, words: [String]) throws {
    let note = try #require(event.note(of: "tablet"))
    #expect(note.level == level)
    for word in words { expect(note.text.contains(word)) }
    #expect(!note.text.hasSuffix("."))
  }

  @Test func `an id is told at debug alone, and one that is more than a name by its length`() throws {
    let plain = try DocumentID("film")
    let id = try DocumentID(.map(["secret": .string("of a patient")]))
    let ranges = [UnreadableRange(collection: "files", from: plain, to: id)]
    let events =
      [
        SyncEvent.oversize(collection: "files", id: id, byteCount: 6_000_000),
        .damaged(collection: "files", id: plain),
      ] + ranges.map { .unreadable($0) }
    for event in events {
      let note = try #require(event.note(of: "tablet"))
      expect(!note.text.contains("film") && !note.text.contains("patient"))
      for id in [plain, id] where note.text.contains(id.digest) {
        expect(event.digestLines.contains("\(id.digest) is the document \(id.nameInMessages) of 'files'"))
      }
      expectEqual(event.digestLines.count, event == events[2] ? 2 : 1)
      expect(!event.digestLines.contains { $0.contains("patient") })
    }
    #expect(id.nameInMessages.contains("\(id.bytes.count) bytes"))
  }
}
