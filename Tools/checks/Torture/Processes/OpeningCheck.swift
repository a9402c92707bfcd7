import CRDTCore
import DocStore
import Glibc

/// Opens a store that is open, by every name it has.
enum OpeningCheck {
  static func run() throws -> Tally {
    try Scratch.with { scratch in
      let lines = try Child.run { descriptor in
        Child.write(try check(scratch).lines, to: descriptor)
      }
      let moved = try Child.run { descriptor in
        Child.write(try checkMove(scratch).lines, to: descriptor)
      }
      return Tally(lines: (lines + moved).joined(separator: "\n"))
    }
  }

  private static func check(_ scratch: Scratch) throws -> Tally {
    var tally = Tally()
    let path = scratch.file("db")
    let store = try open(path)
    guard symlink(path, scratch.file("link")) == 0, mkdir(scratch.file("other"), 0o700) == 0,
      chdir(scratch.path) == 0
    else { throw Failure(.harness, "no link: errno \(errno)") }
    let names = [
      path, path + "/", scratch.file("link"), scratch.file("other/../db"), "db", "./link/",
      scratch.file("./db"),
    ]
    for round in 0..<20 {
      for name in names {
        try insistOnRefusal(name)
        tally["openings refused"] += 1
      }
      try store.write {
        try $0.upsert(["n": .int(Int64(round))], id: DocumentID(.int(Int64(round))), into: "cars")
      }
    }
    store.close()
    for name in names {
      let again = try open(name)
      let count = try again.read { try $0.collections() }.first?.documentCount
      guard count == 20 else { throw Failure(.lost, "\(count ?? 0) of 20 documents by the name \(name)") }
      guard again.identityChange == nil else { throw Failure(.answer, "another name counts as a copy") }
      try insistOnRefusal(path)
      again.close()
      tally["openings after the closing"] += 1
    }
    return tally
  }

  /// Checks that a store opened by a relative path stays the same when the process changes its directory.
  ///
  /// In the new directory, another store has that path.
  private static func checkMove(_ scratch: Scratch) throws -> Tally {
    let name = "moved"
    guard chdir(scratch.path) == 0 else { throw Failure(.harness, "no directory: errno \(errno)") }
    let first = try open(name)
    try write(0..<20, to: first)
    guard chdir(scratch.file("other")) == 0 else { throw Failure(.harness, "no directory: errno \(errno)") }
    let second = try open(name)
    try write(100..<105, to: second)
    try write(20..<40, to: first)
    try first.compact()
    try write(40..<50, to: first)
    first.close()
    second.close()
    var tally = Tally()
    for (path, expected) in [(scratch.file(name), 50), (scratch.file("other/\(name)"), 5)] {
      let again = try open(path)
      let count = try again.read { try $0.collections() }.first?.documentCount
      guard count == expected else {
        throw Failure(.lost, "\(count ?? 0) of \(expected) documents at \(path) after a change of directory")
      }
      guard again.identityChange == nil else {
        throw Failure(.answer, "a change of directory counts as a copy")
      }
      again.close()
      tally["stores that were where they were"] += 1
    }
    return tally
  }

  private static func write(_ numbers: Range<Int64>, to store: Store) throws {
    for number in numbers {
      try store.write {
        try $0.upsert(["n": .int(number)], id: DocumentID(.int(number)), into: "cars")
      }
    }
  }

  /// Refused at once, and without harm to whoever has the store.
  private static func insistOnRefusal(_ name: String) throws {
    do {
      try open(name).close()
    } catch let error as StoreError where error.code == .alreadyOpen {
      return
    }
    throw Failure(.answer, "a second opening by the name \(name) succeeded")
  }

  private static func open(_ path: String) throws -> Store {
    try Store.open(at: path, options: .silent)
  }
}
