import CRDTCore
import Foundation
import SyncProtocol

#if canImport(Glibc)
  import Glibc
#endif

/// A TCP connection whose frames are made by hand, to say what no honest peer does.
///
/// What the victim says is read and dropped, unless ``reads`` is switched off. Not for several threads.
final class HostileConnection {
  private let target: Target
  private let descriptor: Int32
  /// Whether the victim has not closed it, and nothing failed.
  private(set) var isOpen = true
  /// Whether what comes is read.
  var reads = true
  /// Bytes that came and were read.
  private(set) var receivedBytes = 0
  private var pending: [UInt8] = []
  /// The number of the next frame; `nil` before the first.
  private var nextNumber: UInt32?

  /// Connects; `nil` where nobody takes the connection.
  ///
  /// - Parameters:
  ///   - target: Whom to attack.
  ///   - port: Where; where it listens for peers over TCP if this is `nil`.
  init?(to target: Target, port: Int? = nil) {
    self.target = target
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: port ?? target.port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard connected else {
      close(descriptor)
      return nil
    }
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
  }

  deinit { close(descriptor) }

  // MARK: - Frames

  /// Says hello as the site of that number.
  func sayHello(site: Int, name: String = "hostile") {
    sayHello(as: SiteID(high: 0xBAD0_0000_0000_0000 | UInt64(site), low: 1), name: name)
  }

  func sayHello(as site: SiteID, name: String) {
    queue(Self.hello(as: site, name: name))
  }

  /// A hello, without its number.
  static func hello(as site: SiteID, name: String) -> [UInt8] {
    let hello = Hello(
      versions: SyncLimits.versions, kind: .small, appID: PeerCommand.appID, peerName: name, site: site,
      logEpoch: 5)
    return FrameCodec.frame(.hello, isFirst: true) { hello.encode(to: &$0) }
  }

  /// Sends a frame of a payload that `body` writes.
  func send(_ type: FrameType, _ body: (inout ByteWriter) -> Void = { _ in }) {
    send(FrameCodec.frame(type, body))
  }

  /// Sends a whole frame, with the number that is due.
  func send(_ frame: [UInt8]) {
    queue(frame)
    if pending.count >= 32 << 10 { flush() }
  }

  /// Sends bytes that are no frame.
  func send(raw bytes: [UInt8]) {
    pending += bytes
    flush()
  }

  private func queue(_ frame: [UInt8]) {
    var frame = frame
    FrameCodec.number(&frame, as: nextNumber ?? 0)
    nextNumber = nextNumber.map { $0 &+ 1 } ?? 0
    pending += frame
  }

  // MARK: - Bytes

  /// Writes what waits, for as long as the row goes on.
  ///
  /// - Parameter patience: How long the victim may leave it unread.
  /// - Returns: Whether all is written.
  @discardableResult
  func flush(patience: Duration = .seconds(60)) -> Bool {
    let end = min(ContinuousClock.now + patience, target.deadline)
    var written = 0
    defer { pending.removeFirst(written) }
    while isOpen, written < pending.count, ContinuousClock.now < end {
      let events = poll(Int16(POLLOUT) | (reads ? Int16(POLLIN) : 0), for: .milliseconds(100))
      if events & Int16(POLLIN) != 0 { receive() }
      guard events & Int16(POLLOUT) != 0, isOpen else { continue }
      let count = pending[written...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count > 0 {
        written += count
        target.didSend(count)
      } else if errno != EAGAIN, errno != EINTR {
        isOpen = false
      }
    }
    return written == pending.count
  }

  /// Reads what comes, until nothing did for so long or the victim closes.
  func listen(for duration: Duration) {
    flush()
    let end = min(ContinuousClock.now + duration, target.deadline)
    while isOpen, ContinuousClock.now < end {
      if poll(Int16(POLLIN), for: end - .now) & Int16(POLLIN) != 0 { receive() }
    }
  }

  /// Keeps the connection open until the row's end or the victim closes it.
  func stay() { listen(for: .seconds(3_600)) }

  /// Closes it at once, so that the port is free again.
  func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    isOpen = false
  }

  private func poll(_ events: Int16, for duration: Duration) -> Int16 {
    var state = pollfd(fd: descriptor, events: events, revents: 0)
    let milliseconds = Int32(clamping: Int64(duration / .milliseconds(1)))
    guard Glibc.poll(&state, 1, max(1, milliseconds)) > 0 else { return 0 }
    if state.revents & Int16(POLLERR | POLLHUP) != 0, state.revents & Int16(POLLIN) == 0 { isOpen = false }
    return state.revents
  }

  private func receive() {
    let count = withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 16) {
      recv(descriptor, $0.baseAddress, $0.count, 0)
    }
    if count > 0 {
      receivedBytes += count
    } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
      isOpen = false
    }
  }
}
