#if Server
  import Foundation
  import Synchronization

  /// A device that has logged in: the last certificate that it was issued.
  package struct IssuedDevice: Hashable, Sendable {
    /// The device key, in hexadecimal.
    package let deviceKey: String
    package let user: String?
    /// The expiry of the certificate.
    let validUntil: Date?
    /// The position of the entry in the list of issues.
    let place: UInt64
  }

  /// The devices that the newest issues of the audit log name, in memory.
  ///
  /// It follows the list: each entry is read once, so what a question costs does not grow with the list. The
  /// devices take about 250 bytes each, and only once somebody has asked for them.
  final class IssuedDevices: Sendable {
    /// The entries after a position of the list.
    struct Slice: Sendable {
      /// The position after which the reader was to begin; `nil` at first.
      let former: UInt64?
      /// The intact entries, in their order.
      let entries: [(place: UInt64, event: LoginEvent)]
      /// Where the next slice begins.
      let next: UInt64
      /// The end of the list.
      let end: UInt64
    }

    private struct State {
      var last: [String: IssuedDevice] = [:]
      /// The first entry that was not read; `nil` before the first slice.
      var next: UInt64?
    }

    /// The number of newest entries that count.
    static let window: UInt64 = 100_000

    private let state = Mutex(State())

    /// The first entry that was not read; `nil` before the first slice.
    var next: UInt64? { state.withLock { $0.next } }

    /// Takes entries, unless another caller has read them meanwhile.
    func insert(_ slice: Slice) {
      state.withLock { state in
        guard state.next == slice.former else { return }
        // The list has begun anew.
        if let next = state.next, next > slice.end { state.last = [:] }
        for (place, event) in slice.entries {
          guard let key = event.deviceKey else { continue }
          let device = IssuedDevice(
            deviceKey: key, user: event.user, validUntil: event.validUntil, place: place)
          state.last[key] = event.kind == .issued ? device : nil
        }
        state.next = slice.next
      }
    }

    /// The devices whose certificates are valid at a time, by the age of their entries, the oldest first.
    func valid(at now: Date) -> [IssuedDevice] {
      let all = state.withLock { state in
        let oldest = state.next.map { $0 - min($0, Self.window) } ?? 0
        if state.last.values.contains(where: { $0.place < oldest }) {
          state.last = state.last.filter { $0.value.place >= oldest }
        }
        return Array(state.last.values)
      }
      return all.filter { $0.validUntil.map { $0 > now } ?? false }.sorted { $0.place < $1.place }
    }
  }
#endif
