import DocStore
import Foundation
import LinkTesting
import TestKit
import Testing

@testable import Links

/// The kinds of links that are built in, each of which keeps all promises.
enum LinkKind: String, CaseIterable, CustomTestStringConvertible {
  case memory, emulatedLine, throttled, tcp, webSocket
  case smallPackets, largePackets, roughAir, udp
  #if TLS
    case secureMemory, secureTCP, secureWebSocket, secureSmallPackets
  #endif

  var testDescription: String { rawValue }

  /// Whether packets carry it, which take far more calls for the same bytes.
  var hasPackets: Bool {
    switch self {
    case .smallPackets, .largePackets, .roughAir, .udp: return true
    #if TLS
      case .secureSmallPackets: return true
    #endif
    default: return false
    }
  }

  /// How much suits it.
  var options: LinkConformanceOptions {
    var options = LinkConformanceOptions()
    options.patience = .seconds(180)
    options.volume = 128 << 10
    // What any of them lets wait, and what the system takes besides.
    options.unsentBytes = 48 << 20
    switch self {
    case .smallPackets, .roughAir, .udp:
      options.volume = 48 << 10
      options.overshoot = 64 << 10
      options.unsentBytes = 0
    case .largePackets: options.unsentBytes = 36 << 20
    default: break
    }
    #if TLS
      if self == .secureSmallPackets {
        options.volume = 48 << 10
        // What was decrypted at once and what waits for it.
        options.overshoot = 320 << 10
        options.unsentBytes = 0
      }
    #endif
    return options
  }

  func pair() async throws -> LinkPair {
    switch self {
    case .memory: return memory(nil)
    case .emulatedLine:
      var profile = LinkProfile()
      profile.loss = 0.02
      profile.resendDelay = .milliseconds(1)
      return memory(profile)
    case .throttled:
      let (client, server, listener) = try await sockets(.tcp)
      return LinkPair(ThrottledLink(client, profile: LinkProfile()), server) { await listener.close() }
    case .tcp: return try await socketPair(.tcp)
    case .webSocket: return try await socketPair(.webSocket)
    case .smallPackets: return air(180)
    case .largePackets: return air(16_384)
    case .roughAir: return air(180, .rough)
    case .udp:
      let (one, two) = try await UDPRadio.pair()
      return LinkPair(DatagramLink(over: one), DatagramLink(over: two))
    #if TLS
      case .secureMemory: return try secured(memory(nil))
      case .secureTCP: return try secured(try await socketPair(.tcp))
      case .secureWebSocket: return try secured(try await socketPair(.webSocket))
      case .secureSmallPackets: return try secured(air(180))
    #endif
    }
  }

  private func memory(_ profile: LinkProfile?) -> LinkPair {
    let (near, far) = MemoryLink.pair(profile: profile)
    return LinkPair(near, far)
  }

  private func air(_ packetBytes: Int, _ weather: AirRadio.Weather = .clear) -> LinkPair {
    let (one, two) = AirRadio.pair(packetBytes: packetBytes, weather)
    return LinkPair(DatagramLink(over: one), DatagramLink(over: two))
  }

  private func sockets(
    _ carrier: TCPListener.Carrier
  ) async throws -> (client: TCPLink, server: TCPLink, listener: TCPListener) {
    let listener = try await TCPListener.bind(over: carrier)
    let connector: any LinkConnector =
      carrier == .tcp
      ? TCPConnector(host: "127.0.0.1", port: listener.port)
      : WebSocketConnector(try WebSocketAddress("ws://127.0.0.1:\(listener.port)/sync"))
    let client = try await connector.connect()
    var links = listener.links.makeAsyncIterator()
    let server = try #require(await links.next(isolation: #isolation))
    return (client, server, listener)
  }

  private func socketPair(_ carrier: TCPListener.Carrier) async throws -> LinkPair {
    let (client, server, listener) = try await sockets(carrier)
    return LinkPair(client, server) { await listener.close() }
  }

  #if TLS
    /// TLS over a pair, with new keys of one authority.
    private func secured(_ pair: LinkPair) throws -> LinkPair {
      let authority = try PeerAuthority(
        application: CertificateDraft.application,
        validity: Date(timeIntervalSinceNow: -86_400)..<Date(timeIntervalSinceNow: 864_000))
      func own() throws -> SecureLink.Own {
        let key = DeviceKey()
        let certificate = try authority.issue(
          for: key.peerKey, user: nil,
          validity: Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600))
        let credentials = try PeerCredentials(
          key: key, certificate: certificate, trusted: authority.trusted)
        let salt = SiteSalt(high: .random(in: 0 ... .max), low: 7)
        return SecureLink.Own(
          credentials: credentials, instance: .random(in: 0 ... .max),
          site: key.peerKey.site(salt: salt), salt: salt)
      }
      return pair.mapped(
        SecureLink(over: pair.near, as: try own(), isDialing: true),
        SecureLink(over: pair.far, as: try own(), isDialing: false))
    }
  #endif
}
