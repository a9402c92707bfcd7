import BenchmarkSupport
import Foundation
import RawLMDB
import RawStore
import Synchronization

/// A peer that has only LMDB, zlib at level 1 and a socket: the limit for replication between such stores.
///
/// It answers the requests of the bulk, latency and threshold cases. The sender pushes all it has to any peer
/// that connects.
final class RawPeer: PeerService, @unchecked Sendable {
  private static let mapBytes = 64 << 30
  private static let level: Int32 = 1
  private static let perFrame = 1_000

  private let path: String
  // SAFETY: LMDB's handle may be used by all threads; the link is used by one at a time, see `connected`.
  private let store: OpaquePointer
  private let arrivals = ArrivalLog()
  private let connected = Connected()

  init(path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    var opened: OpaquePointer?
    try Self.check(raw_open(path, Self.mapBytes, nil, 0, &opened))
    guard let opened else { throw BenchmarkError("LMDB did not open") }
    self.path = path
    store = opened
  }

  func close() {
    connected.close()
    raw_close(store)
  }

  func answer(_ request: Request, ready: @Sendable () -> Void) async throws -> Reply {
    var reply = Reply()
    switch request {
    case .open, .quit: break
    case .listen: reply.figures["port"] = Double(try listen())
    case .load(let path, _, let batch):
      reply.figures["documents"] = Double(try load(path, batch: batch))
    case .pull(let collection, let port, _, let count):
      let start = Measures.nanoseconds
      try receive(collection, from: port)
      let end = try await arrivals.wait(for: count, in: collection, deadline: .seconds(600))
      reply.figures["pullSeconds"] = (end - start) / 1e9
      let first = arrivals.time(of: min(100, count), in: collection) ?? end
      reply.figures["first100Seconds"] = (first - start) / 1e9
    case .mark: try insert([Array(#"{"_id":"mark"}"#.utf8)], ids: ["mark"])
    case .wait(let collection, let changes):
      reply.times = [try await arrivals.wait(for: changes, in: collection, deadline: .seconds(600))]
    case .observe(let collection, let count):
      let before = arrivals.changes(in: collection)
      ready()
      _ = try await arrivals.wait(for: before + count, in: collection, deadline: .seconds(600))
      reply.times = (1...count).compactMap { arrivals.time(of: before + $0, in: collection) }
    case .commitOneByOne(_, let count, let gap):
      try commitOneByOne(count, gap: gap, &reply)
    case .updateField(_, let field, let count, let perTransaction):
      reply.times = [try update(field, count: count, perTransaction: perTransaction)]
    case .state: reply = state
    case .writeLarge(let id, let bytes): try writeLarge(id, bytes, &reply)
    case .subscribe, .join, .meet, .part, .holds, .scan:
      throw BenchmarkError("a raw store has no answer to this")
    }
    return reply
  }

  private func listen() throws -> Int {
    var port: Int32 = 0
    let listener = raw_listen(&port)
    guard listener >= 0 else { throw BenchmarkError("cannot listen") }
    Thread { [self] in
      let socket = raw_accept(listener)
      Foundation.close(listener)
      connected.open(socket, level: Self.level) { raw_link_send_store($0, store, Self.perFrame) }
    }.start()
    return Int(port)
  }

  private func receive(_ collection: String, from port: Int) throws {
    let socket = raw_connect(Int32(port))
    guard socket >= 0 else { throw BenchmarkError("cannot connect") }
    Thread { [self] in
      connected.open(socket, level: Self.level) { link in
        while true {
          var count = 0
          let code = raw_link_receive(link, store, &count)
          guard code == 0, count > 0 else { return code }
          arrivals.take(count, of: collection)
        }
      }
    }.start()
  }

  private func load(_ path: String, batch: Int) throws -> Int {
    var reader = try CorpusReader(path: path)
    var written = 0
    while true {
      let documents = try reader.next(batch)
      guard !documents.isEmpty else { return written }
      try insert(documents.map(\.text), ids: documents.map(\.id))
      written += documents.count
    }
  }

  private func insert(_ texts: [[UInt8]], ids: [String]) throws {
    let (ids, texts) = (RawItems(ids.map { Array($0.utf8) }), RawItems(texts))
    try Self.check(raw_insert(store, ids.items, texts.items, ids.items.count))
  }

  /// As the other peers do it: a thousand ids, so that most commits change a document.
  private func commitOneByOne(_ count: Int, gap: Int, _ reply: inout Reply) throws {
    let link = try connected.wait()
    var orders = Orders()
    for number in 0..<count {
      let id = "tick-\(number % 1_000)"
      // The order's own id is replaced by one that comes again.
      let rest = orders.next().dropLast().drop { $0 != UInt8(ascii: ",") }
      let text = Array(#"{"_id":"\#(id)","number":\#(number)"#.utf8) + rest
      let (ids, texts) = (RawItems([Array(id.utf8)]), RawItems([text]))
      reply.times.append(Measures.nanoseconds)
      try Self.check(raw_insert(store, ids.items, texts.items, 1))
      reply.endTimes.append(Measures.nanoseconds)
      try Self.check(raw_link_send(link, ids.items, texts.items, 1))
      usleep(UInt32(gap * 1_000))
    }
  }

  /// A text as long as the document of the other peers, then a small one after it.
  private func writeLarge(_ id: String, _ bytes: Int, _ reply: inout Reply) throws {
    let link = try connected.wait()
    var prose = Prose(random: SplitMix64(seed: UInt64(bytes)))
    let body = String(decoding: prose.text(bytes), as: UTF8.self)
    let ids = RawItems([Array(id.utf8)])
    let texts = RawItems([
      Array(#"{"_id":"\#(id)","type":"report","status":"open","amount":7,"body":"\#(body)"}"#.utf8)
    ])
    reply.times.append(Measures.nanoseconds)
    try Self.check(raw_insert(store, ids.items, texts.items, 1))
    try Self.check(raw_link_send(link, ids.items, texts.items, 1))
  }

  private func update(_ field: String, count: Int, perTransaction: Int) throws -> Double {
    let link = try connected.wait()
    let ids = try spread(count, of: self.ids(raw_count(store)))
    let begin = Measures.nanoseconds
    let base = Int64.random(in: 1_000_000...2_000_000)
    for start in stride(from: 0, to: count, by: perTransaction) {
      let part = RawItems(Array(ids[start..<min(start + perTransaction, count)]))
      let values = part.items.indices.map { base + Int64(start + $0) }
      try Self.check(raw_link_update(link, store, part.items, values, part.items.count, field))
    }
    return begin
  }

  private func ids(_ count: Int) throws -> [[UInt8]] {
    final class Ids { var ids: [[UInt8]] = [] }
    let found = Ids()
    let code = raw_each_id(store, count, Unmanaged.passUnretained(found).toOpaque()) { bytes, context in
      guard let context, let start = bytes.bytes else { return }
      let ids = Unmanaged<Ids>.fromOpaque(context).takeUnretainedValue()
      ids.ids.append(Array(UnsafeRawBufferPointer(start: start, count: bytes.count)))
    }
    try Self.check(code)
    return found.ids
  }

  private var state: Reply {
    var reply = Reply()
    let traffic = connected.traffic
    reply.figures = [
      "documents": Double(raw_count(store)), "recordBytes": 0,
      "bytesSent": Double(traffic.wire), "bytesReceived": 0, "plainBytesSent": Double(traffic.plain),
      "cpuSeconds": Measures.cpuSeconds, "peakResidentBytes": Measures.peakResidentBytes,
      "anonymousBytes": Measures.anonymousBytes, "fileBytes": Double(Measures.fileBytes(below: path)),
    ]
    reply.words["digest"] = "\(raw_digest(store))"
    return reply
  }

  private static func check(_ code: Int32) throws {
    guard code == 0 else { throw BenchmarkError("the raw store reports \(code)") }
  }
}

/// The one link of a raw peer, from when it stands.
private final class Connected: Sendable {
  private struct State {
    var link: Handle?
    var failure: Int32 = 0
  }

  // SAFETY: the link's functions may be called from any thread.
  private struct Handle: @unchecked Sendable {
    let link: OpaquePointer
  }

  private let state = Mutex(State())
  private let isReady = DispatchSemaphore(value: 0)

  /// Runs `body` on the link of a connected socket; then others may have it.
  func open(_ socket: Int32, level: Int32, _ body: (OpaquePointer) -> Int32) {
    var opened: OpaquePointer?
    var code = raw_link_open(socket, level, &opened)
    if let opened {
      let handle = Handle(link: opened)
      state.withLock { $0.link = handle }
      code = body(opened)
    }
    state.withLock { $0.failure = code }
    isReady.signal()
  }

  /// The link, once all documents have been sent.
  func wait() throws -> OpaquePointer {
    isReady.wait()
    isReady.signal()
    let handle = try state.withLock { state in
      guard let handle = state.link, state.failure == 0 else {
        throw BenchmarkError("the link failed: \(state.failure)")
      }
      return handle
    }
    return handle.link
  }

  var traffic: raw_traffic { state.withLock { $0.link.map { raw_link_traffic($0.link) } ?? raw_traffic() } }

  /// Ends the connection; the thread that has it ends with it.
  func close() { state.withLock { if let handle = $0.link { raw_link_shut(handle.link) } } }
}
