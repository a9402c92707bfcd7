import Links
import NIOCore
import NIOPosix
import Synchronization

/// A UDP socket on 127.0.0.1 as a radio; what the system drops is lost.
final class UDPRadio: DatagramRadio {
  let endpoint: LinkEndpoint
  let maximumPacketBytes: Int
  private let channel: any Channel
  private let peer: SocketAddress
  private let receiver: Receiver

  /// Whom packets go to.
  private final class Receiver: ChannelInboundHandler, Sendable {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    let receiver = Mutex<(any DatagramReceiver)?>(nil)

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let packet = Array(unwrapInboundIn(data).data.readableBytesView)
      receiver.withLock { $0 }?.received(packet)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      if context.channel.isWritable { receiver.withLock { $0 }?.ready() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      receiver.withLock { $0 }?.ended("\(error)")
    }
  }

  private init(_ channel: any Channel, peer: SocketAddress, _ receiver: Receiver, packetBytes: Int) {
    self.channel = channel
    self.peer = peer
    self.receiver = receiver
    endpoint = LinkEndpoint(kind: "udp", address: "\(peer)")
    maximumPacketBytes = packetBytes
  }

  /// Binds two sockets that send to each other.
  static func pair(packetBytes: Int = 1_200) async throws -> (UDPRadio, UDPRadio) {
    var ends: [(channel: any Channel, receiver: Receiver, address: SocketAddress)] = []
    for _ in 0..<2 {
      let receiver = Receiver()
      let channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(receiver)
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      guard let address = channel.localAddress else { throw LinkError(.system, "A socket has no address") }
      ends.append((channel, receiver, address))
    }
    return (
      UDPRadio(ends[0].channel, peer: ends[1].address, ends[0].receiver, packetBytes: packetBytes),
      UDPRadio(ends[1].channel, peer: ends[0].address, ends[1].receiver, packetBytes: packetBytes)
    )
  }

  func attach(_ receiver: any DatagramReceiver) { self.receiver.receiver.withLock { $0 = receiver } }

  func send(_ packet: [UInt8]) -> Bool {
    guard channel.isWritable else { return false }
    let envelope = AddressedEnvelope(remoteAddress: peer, data: channel.allocator.buffer(bytes: packet))
    channel.writeAndFlush(envelope, promise: nil)
    return true
  }

  func close() {
    receiver.receiver.withLock { $0 = nil }
    channel.close(promise: nil)
  }
}
