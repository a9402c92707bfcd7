import CRDTCore
import Synchronization

/// The running statements, and the last ones that have ended.
///
/// It keeps texts, which contain no arguments. Where they are shown, their literals are left out too.
final class RequestLog: Sendable {
  fileprivate struct Request: Sendable {
    let number: UInt64
    /// `nil` for a text that is too long to be kept.
    let text: String?
    let start: UInt64
    var nanoseconds: UInt64 = 0
    var rowCount = 0
    /// The code of the error that ended it; `nil` when it succeeded.
    var failure: String?
  }

  /// Counts over all statements that have ended.
  struct Totals: Sendable {
    var completed: Int64 = 0
    var failed: Int64 = 0
    var slow: Int64 = 0
    var rows: Int64 = 0
    var nanoseconds: Int64 = 0
  }

  fileprivate struct State {
    var totals = Totals()
    var last: UInt64 = 0
    var active: [UInt64: Request] = [:]
    var history: [Request] = []
    /// The position in `history` of the oldest request, once the history is full.
    var oldest = 0
    var capacity = 0
    var slowNanoseconds: UInt64 = 0
  }

  /// The longest text that is kept.
  private static let textBytes = 4 << 10

  private let state = Mutex(State())
  private let environment: EngineEnvironment

  init(_ parameters: SystemParameters, _ environment: EngineEnvironment) {
    self.environment = environment
    parameters.follow(.requestHistorySize) { [weak self] in
      guard case .int(let size) = $0 else { return }
      self?.state.withLock { state in
        state.history = Array(state.inOrder.suffix(Int(size)))
        state.oldest = 0
        state.capacity = Int(size)
      }
    }
    parameters.follow(.slowRequestSeconds) { [weak self] in
      guard case .int(let seconds) = $0 else { return }
      self?.state.withLock { $0.slowNanoseconds = UInt64(seconds) * 1_000_000_000 }
    }
  }

  /// Records the beginning of a statement.
  ///
  /// - Returns: Its number.
  func begin(_ prepared: PreparedStatement) -> UInt64 {
    prepared.uses.add(1, ordering: .relaxed)
    let now = environment.now()
    let text = prepared.text.utf8.count <= Self.textBytes ? prepared.text : nil
    return state.withLock { state in
      state.last += 1
      state.active[state.last] = Request(number: state.last, text: text, start: now)
      return state.last
    }
  }

  /// Records the end of a statement.
  func end(_ number: UInt64, rowCount: Int, error: (any Error)?) {
    let now = environment.now()
    let slow: Request? = state.withLock { state in
      guard var request = state.active.removeValue(forKey: number) else { return nil }
      request.nanoseconds = now - min(request.start, now)
      request.rowCount = rowCount
      request.failure = error.map { ($0 as? QueryError)?.code.rawValue ?? "store" }
      state.keep(request)
      let isSlow = state.slowNanoseconds > 0 && request.nanoseconds >= state.slowNanoseconds
      state.totals.count(request, isSlow)
      return isSlow ? request : nil
    }
    guard let slow else { return }
    environment.log(
      "slow statement: \(slow.nanoseconds / 1_000_000) ms for \(Self.redacted(slow.text))")
  }

  /// Removes the statements that have ended.
  func clear() {
    state.withLock { state in
      state.history = []
      state.oldest = 0
    }
  }

  var totals: Totals { state.withLock { $0.totals } }

  /// The statements that run now, as `system:active_requests` shows them.
  var active: [[TextKey: Value]] {
    let now = environment.now()
    return state.withLock { $0.active.values.sorted { $0.number < $1.number } }.map { request in
      var document = Self.document(request)
      document["elapsed_ns"] = .int(Int64(clamping: now - min(request.start, now)))
      document["state"] = .string("running")
      return document
    }
  }

  /// The statements that have ended, oldest first, as `system:request_history` shows them.
  var history: [[TextKey: Value]] {
    state.withLock { $0.inOrder }.map { request in
      var document = Self.document(request)
      document["elapsed_ns"] = .int(Int64(clamping: request.nanoseconds))
      document["state"] = .string(request.failure == nil ? "completed" : "failed")
      document["rows"] = .int(Int64(request.rowCount))
      document["error"] = request.failure.map { .string($0) }
      return document
    }
  }

  private static func document(_ request: Request) -> [TextKey: Value] {
    ["_id": .int(Int64(clamping: request.number)), "statement": .string(redacted(request.text))]
  }

  /// A statement without its literals; a text that cannot be parsed is not shown.
  private static func redacted(_ text: String?) -> String {
    guard let text else { return "a statement that is too long to be kept" }
    do throws(QueryError) {
      return try DQL.parse(text).redacted
    } catch {
      return "a statement that cannot be read"
    }
  }
}

extension RequestLog.Totals {
  fileprivate mutating func count(_ request: RequestLog.Request, _ isSlow: Bool) {
    if request.failure == nil { completed += 1 } else { failed += 1 }
    if isSlow { slow += 1 }
    rows += Int64(request.rowCount)
    nanoseconds &+= Int64(clamping: request.nanoseconds)
  }
}

extension RequestLog.State {
  fileprivate var inOrder: [RequestLog.Request] { Array(history[oldest...] + history[..<oldest]) }

  /// Keeps a request; if there is no room, it replaces the oldest.
  fileprivate mutating func keep(_ request: RequestLog.Request) {
    guard capacity > 0 else { return }
    if history.count < capacity {
      history.append(request)
    } else {
      history[oldest] = request
      oldest = (oldest + 1) % capacity
    }
  }
}
