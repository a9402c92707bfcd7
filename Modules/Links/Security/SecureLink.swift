#if TLS
  import CRDTCore
  import Foundation
  import NIOConcurrencyHelpers
  import NIOCore
  import NIOSSL
  import NIOTLS

  /// TLS inside the bytes of another link: all bytes are encrypted, and each end has proved its identity.
  ///
  /// Before the link's user is called, both ends have shown a certificate of the application and have
  /// introduced themselves. If that fails, the user is told that both directions have ended, with the reason.
  final class SecureLink: ProvenLink {
    /// What this end uses to prove its identity.
    struct Own: Sendable {
      let credentials: PeerCredentials
      /// A random number that identifies the process.
      let instance: UInt64
      let site: SiteID
      let salt: SiteSalt
      /// The grants of peers that were met before.
      var grants = GrantBook()
      /// The interval at which the link checks whether a certificate has expired.
      ///
      /// One timer is not enough: timers stop while a device sleeps, and the clock may be set.
      var expiryPause: Duration = .seconds(60)
    }

    /// The number of bytes that may arrive before the peer has introduced itself.
    private static let openingBytes = 64 << 10
    /// The number of received bytes not yet decrypted above which the link is not read.
    private static let unseenBytes = 256 << 10

    /// The maximum number of bytes that are encrypted at once, as one record.
    ///
    /// The library keeps a buffer as large as what it encrypts before a flush, and most links of a server are
    /// idle.
    private static let recordBytes = 15 << 10

    private enum Phase {
      case idle
      /// The TLS handshake is in flight; the number of bytes received so far.
      case handshake(received: Int)
      /// The TLS handshake is complete; the part of the peer's introduction received so far.
      case introduction(received: [UInt8])
      /// The peer has introduced itself; what follows until the grants of both ends are known, and the part
      /// of it received so far.
      case grants(GrantHandover, received: ArraySlice<UInt8>)
      case open
      case over
    }

    /// State that is used on the event loop only.
    private struct LoopState {
      var phase = Phase.idle
      var channel: LinkChannel?
      /// The first bytes that the dialing end has sent, until they contain the number of the handshake.
      var opening: [UInt8] = []
      var random: ClientRandom?
      var secret: HandshakeSecret?
      /// The identity that the check has accepted, and its certificate.
      var identity: PeerIdentity?
      var certificate: [UInt8] = []
      /// The texts of the peer's grant that were kept from an earlier connection.
      var kept: GrantTexts?
      /// What revocations can name of the peer's certificates.
      var facts: CertificateFacts?
      /// Why the check has refused the peer.
      var refusal: LinkError?
      /// The records that `send` has encrypted so far; `nil` outside of it.
      var encrypted: [[UInt8]]?
      var told: Set<LinkDirection> = []
      var expiry: Scheduled<Void>?
    }

    private struct Shared {
      var user: (any LinkUser)?
      var unseenBytes = 0
      var isHeldBack = false
      /// Bytes that wait to be encrypted.
      var pieces: [[UInt8]] = []
      var isFinishing = false
      var proven: ProvenPeer?
    }

    private let base: any Link
    private let own: Own
    private let end: HandshakeEnd
    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<LoopState>
    private let shared = NIOLockedValueBox(Shared())

    /// Prepares TLS over a link that has no other user.
    ///
    /// It starts when a user is attached.
    init(over base: any Link, as own: Own, isDialing: Bool) {
      self.base = base
      self.own = own
      end = isDialing ? .dialing : .listening
      loop = ((base.executor as? LoopExecutor) ?? LoopExecutor.next()).loop
      state = NIOLoopBoundBox.makeBoxSendingValue(LoopState(), eventLoop: loop)
    }

    var provenPeer: ProvenPeer? { shared.withLockedValue { $0.proven } }

    // MARK: - For its user

    var endpoint: LinkEndpoint { base.endpoint }
    var statistics: LinkStatistics { base.statistics }
    var isLocal: Bool { base.isLocal }
    var executor: any LinkExecutor { LoopExecutor(loop) }

    func attach(_ user: any LinkUser) {
      shared.withLockedValue { $0.user = user }
      executor.run { self.begin() }
    }

    func write(_ pieces: [[UInt8]]) {
      shared.withLockedValue { shared in
        // Bytes after the end of the direction are dropped.
        if !shared.isFinishing { shared.pieces += pieces }
      }
      executor.run { self.encrypt() }
    }

    func resumeReading() { base.resumeReading() }

    func finishWriting() {
      shared.withLockedValue { $0.isFinishing = true }
      executor.run { self.encrypt() }
    }

    func close(_ reason: LinkError) { base.close(reason) }

    func admitted() { base.admitted() }

    // MARK: - The opening

    private var context: HandshakeContext {
      switch end {
      case .dialing: own.credentials.dialing
      case .listening: own.credentials.listening
      }
    }

    private func begin() {
      let identify: NIOSSLCustomVerificationCallback = { [weak self] presented, promise in
        guard let self else { return promise.succeed(.failed) }
        judge(presented, promise)
      }
      do {
        let context = try self.context.context()
        let handler: any ChannelHandler =
          end == .dialing
          ? try NIOSSLClientHandler(
            context: context, serverHostname: nil, customVerificationCallback: identify)
          : NIOSSLServerHandler(
            context: context, customVerificationCallback: identify)
        let channel = LinkChannel(loop, owner: self)
        state.value.channel = channel
        state.value.phase = .handshake(received: 0)
        try channel.begin([handler, LinkChannelEvents(self)])
      } catch {
        fail(LinkError(.credentials, "TLS cannot begin: \(error)"))
      }
      base.attach(self)
    }

    /// Checks the peer's certificates in a task outside the event loop.
    private func judge(
      _ presented: [NIOSSLCertificate], _ promise: EventLoopPromise<NIOSSLVerificationResult>
    ) {
      let chain = presented.map { (try? $0.toDERBytes()) ?? [] }
      Task { [own, loop] in
        let result: Result<PeerIdentity, LinkError>
        do throws(LinkError) {
          result = .success(try await own.credentials.check.check(chain))
        } catch {
          result = .failure(error)
        }
        loop.execute {
          switch result {
          case .success(let identity):
            self.state.value.identity = identity
            self.state.value.certificate = chain.first ?? []
            self.state.value.facts = CertificateFacts(der: chain, below: own.credentials.check.trusted)
            promise.succeed(.certificateVerified)
          case .failure(let error):
            self.state.value.refusal = error
            promise.succeed(.failed)
          }
        }
      }
    }

    /// Looks for the handshake's number in the bytes of the dialing end, and then expects its secret.
    ///
    /// - Returns: Whether the handshake may continue.
    private func note(opening bytes: [UInt8]) -> Bool {
      guard case .handshake = state.value.phase, state.value.random == nil,
        state.value.opening.count < ClientRandom.openingBytes
      else { return true }
      state.value.opening += bytes.prefix(ClientRandom.openingBytes - state.value.opening.count)
      guard let random = ClientRandom(opening: state.value.opening) else { return true }
      guard context.expectSecret(of: random) else {
        fail(LinkError(.untrusted, "\(endpoint.address) begins with the number of another handshake"))
        return false
      }
      state.value.random = random
      return true
    }

    private func forgetSecret() {
      if let random = state.value.random { context.forgetSecret(of: random) }
      (state.value.random, state.value.opening) = (nil, [])
    }

    /// Sends this end's introduction after the handshake.
    private func introduce(_ negotiated: String?) {
      guard negotiated == HandshakeContext.protocolName else {
        return fail(LinkError(.untrusted, "\(endpoint.address) speaks another protocol inside TLS"))
      }
      guard case .handshake = state.value.phase, let identity = state.value.identity,
        let secret = state.value.random.flatMap({ context.secret(of: $0) }),
        let certificate = own.credentials.presented.first
      else {
        return fail(LinkError(.untrusted, "TLS met without a proof of who is at the other end"))
      }
      state.value.secret = secret
      forgetSecret()
      state.value.phase = .introduction(received: [])
      let introduction = Introduction(
        binding: secret.binding(of: end, certificate: certificate), instance: own.instance, site: own.site,
        salt: own.salt)
      // One more byte says whether the peer has to send the texts of its grant.
      state.value.kept = identity.grantHash.flatMap { own.grants.texts(of: $0) }
      let keeps = identity.grantHash.map { _ in
        state.value.kept == nil ? GrantHandover.wanted : GrantHandover.kept
      }
      send([introduction.bytes + [keeps].compactMap(\.self)])
    }

    /// Checks the peer's introduction, after which it hands over its grant.
    private func meet(_ bytes: [UInt8], _ rest: ArraySlice<UInt8>) {
      guard let identity = state.value.identity, let secret = state.value.secret else { return }
      let introduction: Introduction
      do {
        introduction = try Introduction(bytes)
      } catch {
        return fail(
          LinkError(.untrusted, "\(endpoint.address) introduces itself in a way that is not known here"))
      }
      let binding = secret.binding(of: end.other, certificate: state.value.certificate)
      let difference = zip(binding, introduction.binding).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
      guard difference == 0, binding.count == introduction.binding.count else {
        return fail(LinkError(.untrusted, "\(endpoint.address) introduces itself for another connection"))
      }
      guard identity.key.site(salt: introduction.salt) == introduction.site, introduction.site != .zero else {
        return fail(LinkError(.untrusted, "\(endpoint.address) claims a site that its key does not prove"))
      }
      let handover = GrantHandover(
        peer: ProvenPeer(
          identity: identity, site: introduction.site, instance: introduction.instance,
          grant: state.value.kept),
        isShown: own.credentials.grant == nil)
      state.value.kept = nil
      hand(over: handover, rest)
    }

    /// Hands over the own grant if the peer wants it, and takes the peer's; then opens the link to its user.
    private func hand(over handover: GrantHandover, _ received: ArraySlice<UInt8>) {
      var (handover, rest) = (handover, received)
      let isWanted: Bool
      do throws(LinkError) {
        isWanted = try handover.take(&rest)
      } catch {
        return fail(LinkError(.untrusted, "\(endpoint.address) hands over no grant: \(error.message)"))
      }
      if isWanted, let grant = own.credentials.grant { send([grant.wire]) }
      guard handover.isComplete else { return state.value.phase = .grants(handover, received: rest) }
      if let hash = handover.peer.identity.grantHash, let grant = handover.peer.grant {
        own.grants.keep(grant, of: hash)
      }
      open(with: handover.peer, rest)
    }

    /// Opens the link to its user.
    private func open(with peer: ProvenPeer, _ rest: ArraySlice<UInt8>) {
      state.value.phase = .open
      shared.withLockedValue { $0.proven = peer }
      endWhenExpired(peer.identity)
      // The peer may have been revoked since the check.
      endNowIfRevoked()
      encrypt()
      if !rest.isEmpty { deliver(Array(rest)) }
    }

    /// Ends the link when one of the two certificates has expired by the current wall clock.
    private func endWhenExpired(_ identity: PeerIdentity) {
      let now = Int64(own.credentials.check.now().timeIntervalSince1970 * 1_000)
      let ownEnd = own.credentials.validUntil
      let left = min(identity.validUntil, ownEnd) - now
      guard left > 0 else {
        let whose = identity.validUntil <= ownEnd ? "The peer's certificate" : "This device's certificate"
        return fail(LinkError(.expired, "\(whose) has ended"))
      }
      let pause = min(TimeAmount.milliseconds(left), TimeAmount(own.expiryPause))
      state.value.expiry = loop.assumeIsolated().scheduleTask(in: pause) { [weak self] in
        self?.endWhenExpired(identity)
      }
    }

    /// Ends the link if the peer was revoked.
    ///
    /// It has no effect before the peer has introduced itself.
    func endIfRevoked() {
      executor.run {
        guard self.provenPeer != nil else { return }
        self.endNowIfRevoked()
      }
    }

    private func endNowIfRevoked() {
      guard let facts = state.value.facts, let why = own.credentials.check.revoked.reason(facts) else {
        return
      }
      fail(LinkError(.revoked, "The peer at \(endpoint.address) is not trusted any more: \(why)"))
    }

    // MARK: - What goes through

    /// Passes waiting bytes to TLS once the peer has introduced itself.
    private func encrypt() {
      switch state.value.phase {
      case .open: break
      // Before both ends are introduced, the end waits behind the queued bytes.
      case .idle, .handshake, .introduction, .grants, .over: return
      }
      let (pieces, isFinishing) = shared.withLockedValue { shared in
        defer { shared.pieces = [] }
        return (shared.pieces, shared.isFinishing)
      }
      if !pieces.isEmpty { send(pieces) }
      if isFinishing { state.value.channel?.close(mode: .output, promise: nil) }
    }

    private func send(_ pieces: [[UInt8]]) {
      guard let channel = state.value.channel else { return }
      state.value.encrypted = []
      var record = channel.allocator.buffer(
        capacity: min(pieces.reduce(0) { $0 + $1.count }, Self.recordBytes))
      for piece in pieces {
        var rest = piece[...]
        while !rest.isEmpty {
          let count = record.writeBytes(rest.prefix(Self.recordBytes - record.readableBytes))
          rest.removeFirst(count)
          if record.readableBytes == Self.recordBytes { encrypt(&record, channel) }
        }
      }
      if record.readableBytes > 0 { encrypt(&record, channel) }
      let encrypted = state.value.encrypted ?? []
      state.value.encrypted = nil
      if !encrypted.isEmpty { base.write(encrypted) }
    }

    private func encrypt(_ record: inout ByteBuffer, _ channel: LinkChannel) {
      channel.pipeline.syncOperations.writeAndFlush(NIOAny(record), promise: nil)
      record.clear()
    }

    private func deliver(_ bytes: [UInt8]) {
      shared.withLockedValue { $0.user }?.received(bytes)
    }

    // MARK: - The end

    /// Ends both directions.
    ///
    /// TLS still sends its alert.
    private func fail(_ error: LinkError) {
      if case .over = state.value.phase { return }
      let channel = state.value.channel
      state.value.phase = .over
      base.finishWriting()
      base.resumeReading()
      tell(.inbound, error)
      tell(.outbound, error)
      channel?.linkEnded()
    }

    private func tell(_ direction: LinkDirection, _ error: LinkError?) {
      guard state.value.told.insert(direction).inserted else { return }
      let user = shared.withLockedValue { $0.user }
      user?.ended(direction, error)
      guard state.value.told.count == 2 else { return }
      state.value.expiry?.cancel()
      state.value.expiry = nil
      forgetSecret()
      let channel = state.value.channel
      state.value.channel = nil
      state.value.phase = .over
      shared.withLockedValue { ($0.user, $0.pieces) = (nil, []) }
      channel?.linkEnded()
    }
  }

  extension SecureLink: LinkUser {
    func received(_ bytes: [UInt8]) {
      shared.withLockedValue { $0.unseenBytes += bytes.count }
      executor.run { self.take(bytes) }
    }

    var hasRoom: Bool {
      let (user, isFull) = shared.withLockedValue { shared in
        let isFull = shared.unseenBytes > Self.unseenBytes
        if isFull { shared.isHeldBack = true }
        return (shared.user, isFull)
      }
      return !isFull && user?.hasRoom ?? true
    }

    private func take(_ bytes: [UInt8]) {
      let wasHeldBack = shared.withLockedValue { shared in
        shared.unseenBytes -= bytes.count
        guard shared.isHeldBack, shared.unseenBytes <= Self.unseenBytes else { return false }
        shared.isHeldBack = false
        return true
      }
      if case .handshake(let received) = state.value.phase {
        guard received + bytes.count <= Self.openingBytes else {
          return fail(LinkError(.untrusted, "\(endpoint.address) sends more than a handshake has"))
        }
        state.value.phase = .handshake(received: received + bytes.count)
        guard end == .dialing || note(opening: bytes) else { return }
      }
      state.value.channel?.received(bytes)
      if wasHeldBack { base.resumeReading() }
    }

    func ended(_ direction: LinkDirection, _ error: LinkError?) {
      executor.run {
        switch direction {
        case .outbound: self.tell(.outbound, error)
        case .inbound:
          // Anybody could have caused an end that TLS has not announced.
          self.tell(.inbound, error ?? self.unannouncedEnd)
        }
      }
    }

    private var unannouncedEnd: LinkError {
      switch state.value.phase {
      case .idle, .handshake, .introduction, .grants:
        state.value.refusal
          ?? LinkError(
            .untrusted, "\(endpoint.address) ended the connection before the peers had met inside TLS")
      case .open, .over: LinkError(.disconnected, "The connection to \(endpoint.address) was closed")
      }
    }
  }

  extension SecureLink: LinkChannelOwner {
    func channelWrote(_ bytes: [UInt8]) {
      guard end == .listening || note(opening: bytes) else { return }
      if state.value.encrypted == nil { base.write([bytes]) } else { state.value.encrypted?.append(bytes) }
    }

    func channelRead(_ bytes: [UInt8]) {
      switch state.value.phase {
      case .open: deliver(bytes)
      case .introduction(let received):
        let all = received + bytes
        guard all.count >= Introduction.byteCount else {
          state.value.phase = .introduction(received: all)
          return
        }
        meet(Array(all[..<Introduction.byteCount]), all[Introduction.byteCount...])
      case .grants(let handover, let received): hand(over: handover, received + bytes)
      case .idle, .handshake, .over: break
      }
    }

    func channelEvent(_ event: Any) {
      switch event {
      case TLSUserEvent.handshakeCompleted(let negotiated): introduce(negotiated)
      case ChannelEvent.inputClosed: tell(.inbound, nil)
      default: break
      }
    }

    func channelFailed(_ error: any Error) {
      let isOpen = if case .open = state.value.phase { true } else { false }
      if let refusal = state.value.refusal { return fail(refusal) }
      let reason = TLSFailure.reason(
        error, hasSharedKey: own.credentials.check.trusted.proof == .sharedKey)
      fail(LinkError(isOpen ? .disconnected : .untrusted, "\(endpoint.address) \(reason)"))
    }

    func channelClosed(_ mode: CloseMode) { base.finishWriting() }
  }
#endif
