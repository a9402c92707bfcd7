#if Server
  import DocStore
  import HTTPTypes

  /// How much room the stored responses to writes take, of one owner and of all.
  ///
  /// A response that is stored is never dropped before its time, so a write whose response has no room is
  /// refused. The amounts are stored in the transaction of the response, by the hour in which it expires: an
  /// hour that is over counts no more, whether its responses are removed yet or not. Responses that an
  /// earlier release stored do not count.
  struct KeptAnswers {
    /// The bounds of one owner or of all.
    private struct Bound {
      let count: UInt64
      let bytes: UInt64
    }

    /// What expires within one hour.
    private struct Hour {
      /// Hours since 1970.
      let number: UInt64
      var count: UInt64
      var bytes: UInt64
    }

    private static let table = SideTable("http.idempotency.usage")
    private static let hour: Int64 = 3_600_000
    private static let version: UInt8 = 1
    /// The row of all owners; the rows of single owners have 32 bytes.
    private static let all: [UInt8] = [0]

    private let owner: [UInt8]
    private let limits: HTTPLimits

    /// - Parameters:
    ///   - owner: The hash of the owner's name.
    ///   - limits: The bounds of all owners together; one owner has the half of it.
    init(owner: [UInt8], _ limits: HTTPLimits) { (self.owner, self.limits) = (owner, limits) }

    /// Checks that there may be room for one more response, before its write is carried out.
    ///
    /// - Throws: `keptAnswers`; `StoreError`.
    func check(in transaction: WriteTransaction, at now: Int64) throws {
      for (row, bound) in rows { _ = try room(row, bound, 0, transaction, now) }
    }

    /// Counts a response that is stored in the same transaction.
    ///
    /// - Parameters:
    ///   - bytes: The size of what is stored.
    ///   - expires: When it expires, in milliseconds since 1970.
    ///   - transaction: The transaction.
    ///   - now: The present, in milliseconds since 1970.
    /// - Throws: `keptAnswers` when there is no room for it; `StoreError`.
    func add(_ bytes: Int, expiring expires: Int64, in transaction: WriteTransaction, at now: Int64) throws {
      let number = Self.number(expires)
      for (row, bound) in rows {
        var hours = try room(row, bound, UInt64(bytes), transaction, now)
        let index = hours.firstIndex { $0.number == number } ?? hours.endIndex
        if index == hours.endIndex { hours.append(Hour(number: number, count: 0, bytes: 0)) }
        hours[index].count += 1
        hours[index].bytes += UInt64(bytes)
        try transaction.setSideValue(Self.stored(hours), Self.table, key: row)
      }
    }

    private var rows: [([UInt8], Bound)] {
      let (count, bytes) = (UInt64(clamping: limits.keptAnswers), UInt64(clamping: limits.keptAnswerBytes))
      return [
        (owner, Bound(count: max(count / 2, 1), bytes: bytes / 2)),
        (Self.all, Bound(count: count, bytes: bytes)),
      ]
    }

    /// The hours of a row that are not over.
    ///
    /// - Throws: `keptAnswers` when there is no room for so many more bytes; `StoreError`.
    private func room(
      _ row: [UInt8], _ bound: Bound, _ bytes: UInt64, _ transaction: WriteTransaction, _ now: Int64
    ) throws -> [Hour] {
      let present = Self.number(now)
      let hours = Self.hours(try transaction.sideValue(Self.table, key: row) ?? []).filter {
        $0.number >= present
      }
      let count = hours.reduce(0) { $0 + $1.count }
      let sum = hours.reduce(bytes) { $0 + $1.bytes }
      guard count < bound.count, sum <= bound.bytes else {
        let next = hours.map(\.number).min() ?? present
        let wait = (Int64(next) + 1) * Self.hour - now
        throw Problem.keptAnswers(ofOne: row != Self.all, seconds: max(1, wait / 1_000))
      }
      return hours
    }

    private static func number(_ milliseconds: Int64) -> UInt64 { UInt64(max(0, milliseconds) / hour) }

    private static func stored(_ hours: [Hour]) -> [UInt8] {
      hours.reduce(into: [version]) { bytes, hour in
        for number in [hour.number, hour.count, hour.bytes] {
          bytes.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
        }
      }
    }

    private static func hours(_ stored: [UInt8]) -> [Hour] {
      guard stored.first == version, stored.count % 24 == 1 else { return [] }
      return stride(from: 1, to: stored.count, by: 24).map { start in
        let numbers = (0..<3).map { index in
          stored[(start + index * 8)..<(start + index * 8 + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        return Hour(number: numbers[0], count: numbers[1], bytes: numbers[2])
      }
    }
  }

  extension Problem {
    /// The stored responses to writes with an `Idempotency-Key` leave no room for another one.
    ///
    /// - Parameters:
    ///   - isOfOne: Whether those of one API key do, and not those of all.
    ///   - seconds: When the next ones expire.
    /// - Returns: The problem; nothing was written.
    static func keptAnswers(ofOne isOfOne: Bool, seconds: Int64) -> Problem {
      Problem(
        isOfOne ? .tooManyRequests : .serviceUnavailable, "keptAnswers",
        isOfOne
          ? "the answers that are kept for this key's Idempotency-Keys take as much room as they may: send fewer, or smaller ones, or no such header"
          : "the answers that are kept for Idempotency-Keys take as much room as they may",
        headers: [.retryAfter: "\(seconds)"])
    }
  }
#endif
