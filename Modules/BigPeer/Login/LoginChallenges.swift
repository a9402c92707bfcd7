#if Server
  import CRDTCore
  import Crypto
  import Foundation
  package import Links
  import Synchronization

  /// Challenges of a login endpoint: each is valid once, for one device key, and for a minute.
  ///
  /// A challenge contains its expiry and an authentication code over it, so nothing is stored of a challenge
  /// that is never answered. Only answered challenges are stored, until they expire.
  package final class LoginChallenges: Sendable {
    /// The result of checking an answered challenge.
    package enum Verdict: Hashable, Sendable {
      case good
      /// The challenge was not made here, or for another key.
      case unknown
      /// The challenge has expired.
      case outOfDate
      /// It was answered before.
      case used
      /// Too many were answered within a minute.
      case full
    }

    /// How long a challenge is valid.
    package static let lifetime = Duration.seconds(60)
    /// The maximum number of answered challenges that are stored.
    package static let answers = 100_000
    private static let (timeBytes, nonceBytes, codeBytes) = (8, 16, 16)

    private struct State {
      /// The answered challenges, with their expiry.
      var used: [[UInt8]: Duration] = [:]
      var sweepsAt = Duration.zero
    }

    private let key = SymmetricKey(size: .bits256)
    private let application: String
    private let state = Mutex(State())

    package init(application: String) { self.application = application }

    /// Makes a challenge for a device key.
    package func make(for deviceKey: PeerKey, at now: Duration) -> String {
      let time = now + Self.lifetime
      let milliseconds = UInt64(clamping: Int64(time / .milliseconds(1)))
      let content =
        (0..<8).map { UInt8(truncatingIfNeeded: milliseconds >> (56 - 8 * $0)) }
        + (0..<Self.nonceBytes).map { _ in UInt8.random(in: 0...255) }
      return Data(content + code(content, deviceKey)).map {
        String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
      }
      .joined()
    }

    /// Checks an answered challenge, and records it as used.
    package func take(_ challenge: String, for deviceKey: PeerKey, at now: Duration) -> Verdict {
      guard let bytes = Self.bytes(challenge),
        bytes.count == Self.timeBytes + Self.nonceBytes + Self.codeBytes
      else { return .unknown }
      let content = Array(bytes.dropLast(Self.codeBytes))
      let difference = zip(code(content, deviceKey), bytes.suffix(Self.codeBytes))
        .reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
      guard difference == 0 else { return .unknown }
      let milliseconds = content.prefix(Self.timeBytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      let end = Duration.milliseconds(Int64(clamping: milliseconds))
      guard now < end else { return .outOfDate }
      return state.withLock { state in
        if now >= state.sweepsAt {
          state.sweepsAt = now + .seconds(5)
          state.used = state.used.filter { $0.value > now }
        }
        guard state.used[content] == nil else { return .used }
        guard state.used.count < Self.answers else { return .full }
        state.used[content] = end
        return .good
      }
    }

    /// The authentication code over the challenge, its application and its device key.
    ///
    /// Only this endpoint can make it.
    private func code(_ content: [UInt8], _ deviceKey: PeerKey) -> [UInt8] {
      let name = Array(application.utf8)
      let statement =
        Array("dunlin challenge 1".utf8) + [UInt8(name.count >> 8 & 255), UInt8(name.count & 255)] + name
        + deviceKey.bytes + content
      return Array(HMAC<SHA256>.authenticationCode(for: statement, using: key).prefix(Self.codeBytes))
    }

    private static func bytes(_ text: String) -> [UInt8]? {
      let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
      guard digits.count % 2 == 0, digits.allSatisfy({ $0 != nil }) else { return nil }
      return stride(from: 0, to: digits.count, by: 2).map {
        UInt8((digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0))
      }
    }
  }
#endif
