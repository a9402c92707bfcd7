import NIOCore
import NIOPosix
import Platform

/// A shared socket on the port of multicast DNS, for one family on one interface.
enum MulticastSocket {
  /// The groups of multicast DNS (RFC 6762, 3).
  private static let groups: [AddressFamily: String] = [.ipv4: "224.0.0.251", .ipv6: "ff02::fb"]
  private static let anyAddress: [AddressFamily: String] = [.ipv4: "0.0.0.0", .ipv6: "::"]
  /// The hop limit of every packet.
  ///
  /// With it receivers recognize a packet that a router forwarded (RFC 6762, 11).
  private static let hops: CInt = 255

  /// Opens a socket; must be called on the event loop.
  ///
  /// - Parameters:
  ///   - socket: The interface and the family.
  ///   - loop: The event loop.
  ///   - receive: Called with a packet, its sender, and the number of the interface on which it arrived.
  /// - Returns: The channel, or the system's error.
  static func open(
    _ socket: Neighbourhood.Socket, on loop: any EventLoop,
    receive: @escaping ([UInt8], DatagramSource, Int) -> Void
  ) -> EventLoopFuture<any Channel> {
    let handler = NIOLoopBound(MulticastHandler(receive), eventLoop: loop)
    var bootstrap = DatagramBootstrap(group: loop)
      .channelOption(.socketOption(.so_reuseaddr), value: 1)
      .channelOption(.socketOption(.init(rawValue: SO_REUSEPORT)), value: 1)
      // One byte more than the limit, so that a truncated packet is recognized as too long.
      .channelOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: DNSMessage.byteLimit + 1)
      )
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(handler.value)
        }
      }
    if socket.family == .ipv6 {
      bootstrap = bootstrap.channelOption(
        ChannelOptions.Types.SocketOption(level: .ipv6, name: .ipv6_v6only), value: 1)
    }
    return bootstrap.bind(
      host: anyAddress[socket.family] ?? "", port: Int(DatagramSource.multicastPort)
    ).flatMap { channel in
      join(socket, channel).map { channel }.flatMapError { error in
        channel.close(promise: nil)
        return channel.eventLoop.makeFailedFuture(error)
      }
    }
  }

  /// The destination of a packet: the group on the link, or one receiver.
  static func address(
    of receiver: DatagramSource?, _ socket: Neighbourhood.Socket
  ) throws -> SocketAddress {
    let address: SocketAddress
    if let receiver {
      address = try SocketAddress(
        packedIPAddress: ByteBuffer(bytes: receiver.address), port: Int(receiver.port))
    } else {
      address = try SocketAddress(
        ipAddress: groups[socket.family] ?? "", port: Int(DatagramSource.multicastPort))
    }
    return address.onLink(of: socket.interface)
  }

  /// Joins the group on the interface, and sends packets through that interface.
  private static func join(_ socket: Neighbourhood.Socket, _ channel: any Channel) -> EventLoopFuture<Void> {
    do {
      guard let provider = channel as? any SocketOptionProvider else {
        throw ChannelError.operationUnsupported
      }
      var settings = [channel.setOption(.receivePacketInfo, value: true)]
      func set(_ level: NIOBSDSocket.OptionLevel, _ name: CInt, _ value: some Sendable) {
        settings.append(
          provider.unsafeSetSocketOption(
            level: level, name: NIOBSDSocket.Option(rawValue: name), value: value))
      }
      switch socket.family {
      case .ipv4:
        let membership = IPv4Membership(interface: Int32(socket.interface))
        #if os(Linux)
          // Otherwise it would receive packets for other sockets' groups.
          set(.ip, IP_MULTICAST_ALL, CInt(0))
        #endif
        set(.ip, IP_MULTICAST_IF, membership)
        set(.ip, IP_MULTICAST_TTL, hops)
        set(.ip, IP_TTL, hops)
        // Lets peers on one machine receive each other's packets.
        set(.ip, IP_MULTICAST_LOOP, CInt(1))
        set(.ip, IP_ADD_MEMBERSHIP, membership)
      case .ipv6:
        #if os(Linux)
          set(.ipv6, IPV6_MULTICAST_ALL, CInt(0))
        #endif
        set(.ipv6, IPV6_MULTICAST_IF, CInt(socket.interface))
        set(.ipv6, IPV6_MULTICAST_HOPS, hops)
        set(.ipv6, IPV6_UNICAST_HOPS, hops)
        set(.ipv6, IPV6_MULTICAST_LOOP, CInt(1))
        set(
          .ipv6, NIOBSDSocket.Option.ipv6_join_group.rawValue,
          IPv6Membership(interface: UInt32(socket.interface)))
      }
      return EventLoopFuture.andAllSucceed(settings, on: channel.eventLoop)
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
  }
}

/// The system's `ip_mreqn` for the group of multicast DNS.
private struct IPv4Membership: Sendable {
  var group = UInt32(0xE000_00FB).bigEndian
  var address: UInt32 = 0
  var interface: Int32
}

/// The system's `ipv6_mreq` for the group of multicast DNS.
private struct IPv6Membership: Sendable {
  var groupHigh = UInt64(0xFF02_0000_0000_0000).bigEndian
  var groupLow = UInt64(0xFB).bigEndian
  var interface: UInt32
}

/// Delivers packets with their senders.
private final class MulticastHandler: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  private let receive: ([UInt8], DatagramSource, Int) -> Void

  init(_ receive: @escaping ([UInt8], DatagramSource, Int) -> Void) { self.receive = receive }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let envelope = unwrapInboundIn(data)
    guard let interface = envelope.metadata?.packetInfo?.interfaceIndex,
      let source = envelope.remoteAddress.datagramSource
    else { return }
    receive(Array(envelope.data.readableBytesView), source, interface)
  }

  /// Ignores packets that could not be sent, for example because the interface disappeared: they are lost.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
