import CLMDB
import CRDTCore
import DocStore
import Glibc

/// Runs kinds of transactions that would take too long in a test.
///
/// After each of them it compares the pages that count as verified with their former contents.
struct PageRule {
  var ignoresFreed = false

  private static let mapBytes = 4 << 30
  /// Documents of about a page each: more pages than the engine keeps in memory, so that it spills some.
  private static let spilled = 150_000

  /// How the process with the store asks for a write from elsewhere.
  private static let request = "write"

  func run() throws -> Tally {
    try Scratch.with { scratch in
      let path = scratch.file("rule")
      var answers: [Int32] = [0, 0]
      guard pipe(&answers) == 0 else { throw Failure(.harness, "no pipe: errno \(errno)") }
      defer { for end in answers { close(end) } }
      let child = try Child.start { descriptor in
        try audit(path, descriptor) {
          Child.write(Self.request + "\n", to: descriptor)
          var answer: UInt8 = 0
          guard read(answers[0], &answer, 1) == 1 else { throw Failure(.harness, "no answer") }
        }
      }
      var tally = Tally()
      var rest = ""
      var failure: Failure?
      while let bytes = child.read() {
        rest += String(decoding: bytes, as: UTF8.self)
        while let end = rest.firstIndex(of: "\n") {
          let line = rest[..<end]
          rest = String(rest[rest.index(after: end)...])
          if line == Self.request {
            try Self.writeFromElsewhere(path)
            Child.write(".", to: answers[1])
          } else if line.hasPrefix("!") {
            failure = Failure(parsing: String(line.dropFirst()))
          } else if let space = line.firstIndex(of: " "), let count = Int(line[..<space]) {
            tally[String(line[line.index(after: space)...])] += count
          }
        }
      }
      let ending = child.wait()
      if let failure { throw failure }
      guard ending == .exit(0) else { throw Failure(.crash, "the process ended: \(ending)") }
      return tally
    }
  }

  /// Writes of all kinds, and a look after each.
  private func audit(_ path: String, _ descriptor: Int32, writeFromElsewhere: () throws -> Void) throws {
    var options = StoreOptions.silent
    options.mapBytes = Self.mapBytes
    let store = try Store.open(at: path, options: options)
    var audit = PageAudit(ignoresFreed: ignoresFreed)
    func look(_ what: String) throws {
      let (trusted, wrong) = (audit.trusted, audit.wrong)
      do { try audit.run(store) } catch {
        let failure = Failure(wrapping: error)
        throw Failure(failure.kind, "\(failure.text), \(what)")
      }
      Child.write("\(audit.trusted - trusted) pages \(what)\n", to: descriptor)
      if audit.wrong > wrong {
        throw Failure(.wrong, "\(audit.wrong - wrong) pages count as verified and are others \(what)")
      }
    }
    try put(0..<2_000, into: store)
    try look("at first")
    try put(0..<Self.spilled, into: store)
    try look("after a transaction that spilled")
    try put(0..<2_000, into: store)
    try look("after a short one")
    try store.write { tx in
      for n in 0..<Self.spilled where n % 3 != 0 { _ = try tx.evict(Self.id(n), in: "c") }
    }
    try look("after one that removed much")
    try put(0..<Self.spilled, into: store)
    try look("after one that used free pages")
    for round in 0..<5 {
      try writeFromElsewhere()
      try look("after another process wrote")
      try put(round * 100..<round * 100 + 50, into: store)
      try look("after a transaction behind that")
    }
    guard try store.verify().isIntact else { throw Failure(.wrong, "the store is damaged") }
    store.close()
  }

  private func put(_ numbers: Range<Int>, into store: Store) throws {
    let text = Value.string(String(repeating: "x", count: 3_000))
    try store.write { tx in
      for n in numbers { try tx.upsert(["n": .int(Int64(n)), "text": text], id: Self.id(n), into: "c") }
    }
  }

  private static func id(_ n: Int) throws -> DocumentID {
    try DocumentID(.int(Int64(n &* 7_919 % 1_000_003)))
  }

  /// Writes to the file in a way that no store does: another process uses LMDB directly.
  ///
  /// It leaves everything as it was in the end.
  private static func writeFromElsewhere(_ path: String) throws {
    _ = try Child.run { _ in
      var engine: OpaquePointer?
      try check(unsafe mdb_env_create(&engine))
      try check(unsafe mdb_env_set_maxdbs(engine, 64))
      try check(unsafe mdb_env_set_mapsize(engine, mapBytes))
      try check(unsafe mdb_env_open(engine, path + "/data.mdb", UInt32(MDB_NOSUBDIR), 0o600))
      for _ in 0..<3 {
        var transaction: OpaquePointer?
        try check(unsafe mdb_txn_begin(engine, nil, 0, &transaction))
        var table: MDB_dbi = 0
        try check(unsafe mdb_dbi_open(transaction, "documents", 0, &table))
        try rewriteFirst(unsafe transaction, table)
        try check(unsafe mdb_txn_commit(transaction))
      }
      unsafe mdb_env_close(engine)
    }
  }

  /// Puts the first entries of a table once more, so that their pages become others.
  private static func rewriteFirst(_ transaction: OpaquePointer?, _ table: MDB_dbi) throws {
    var cursor: OpaquePointer?
    try check(unsafe mdb_cursor_open(transaction, table, &cursor))
    defer { unsafe mdb_cursor_close(cursor) }
    var key = unsafe MDB_val()
    var value = unsafe MDB_val()
    for place in 0..<200 {
      try check(unsafe mdb_cursor_get(cursor, &key, &value, place == 0 ? MDB_FIRST : MDB_NEXT))
      // Copies: what the cursor gave may lie on the page that is changed.
      var (name, bytes) = unsafe (copy(key), copy(value))
      try unsafe name.withUnsafeMutableBytes { name in
        try unsafe bytes.withUnsafeMutableBytes { bytes in
          var same = unsafe MDB_val(mv_size: name.count, mv_data: name.baseAddress)
          var again = unsafe MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
          try check(unsafe mdb_cursor_put(cursor, &same, &again, UInt32(MDB_CURRENT)))
        }
      }
    }
  }

  private static func copy(_ bytes: MDB_val) -> [UInt8] {
    unsafe Array(UnsafeRawBufferPointer(start: bytes.mv_data, count: bytes.mv_size))
  }

  private static func check(_ rc: Int32) throws {
    if rc != MDB_SUCCESS { throw Failure(.harness, "the engine answers \(rc)") }
  }
}
