import CRDTCore
import ScopePolicy
import SyncProtocol

/// Draws a script from a seed: the peers, which half of all possible events happens, and how often.
///
/// Each seed leaves out much, so that the remaining events happen often enough to meet. (Groce and others,
/// "Swarm Testing", 2012.)
package struct Swarm {
  private var draws: Stream
  var script: Script
  /// What may happen in this seed.
  private var features: Set<Feature> = []
  /// The peer that begins as a copy of another one.
  private var copy: Int?

  /// What a seed may leave out.
  enum Feature: CaseIterable {
    case deletions, counters, defaults, types, pads, transactions, evictions, subscriptions, scopes,
      liveScopes,
      kills, pauses, cuts, stalls, clocks, forgetting, copies, indexes, observers, tuning, slowLinks, losses,
      smallFrames, predicates, compression, bigPeers, silence, jumps, limits, alikeChanges,
      rot
  }

  /// The script of a seed, in which `size` percent of the usual happens.
  ///
  /// With `hasSecrets` somebody keeps a collection to itself, from the beginning to the end.
  package static func script(seed: UInt64, size: Int = 100, hasSecrets: Bool = false) -> Script {
    var swarm = Swarm(seed)
    if hasSecrets {
      swarm.features.formUnion([.scopes])
      swarm.features.subtract([.liveScopes, .copies])
    }
    swarm.drawShape()
    if hasSecrets, let secret = SyncScope.allCases.firstIndex(of: .localPeerOnly) {
      swarm.script.peers[0].scopes[0] = secret
    }
    swarm.addNarrow()
    swarm.drawEvents(size)
    swarm.addMemory()
    swarm.addTelling()
    swarm.addPacking()
    swarm.addLeaving()
    swarm.addGarbling(size)
    return swarm.script
  }

  private init(_ seed: UInt64) {
    draws = Stream(seed, .shape)
    script = Script(seed: seed, rules: Rules(), peers: [], links: [], events: [])
    for feature in Feature.allCases where draws.oneIn(2) { features.insert(feature) }
  }

  private func has(_ feature: Feature) -> Bool { features.contains(feature) }

  // MARK: - Who there is

  private mutating func drawShape() {
    script.rules.collections = draws.int(in: 1...3)
    script.rules.documents = draws.oneIn(4) ? draws.int(in: 40...120) : draws.int(in: 2...18)
    let count = [2, 2, 2, 3, 3, 3, 4, 4, 5][draws.int(below: 9)]
    script.peers = (0..<count).map { _ in PeerPlan() }
    drawLinks(count)
    script.rules.hasNoScopes = !has(.scopes)
    script.rules.hasFixedScopes = !(has(.scopes) && has(.liveScopes))
    script.rules.hasFixedInterests = !has(.subscriptions)
    script.rules.keepsDeletions = !has(.forgetting)
    script.rules.hasNoDefaults = !has(.defaults)
    script.rules.hasNoEvictions = !has(.evictions)
    script.rules.hasNoCopies = !has(.copies)
    for number in script.peers.indices { drawPeer(number) }
    if has(.limits) {
      let limit = draws.int(in: 1_500...4_000)
      for number in script.peers.indices { script.peers[number].hardDocumentBytes = limit }
    }
    if has(.copies), draws.oneIn(2) { addCopy() }
  }

  /// A tree, and sometimes more.
  private mutating func drawLinks(_ count: Int) {
    let isMesh = draws.oneIn(4)
    for b in 1..<count {
      let parent = draws.oneIn(2) ? b - 1 : draws.int(below: b)
      for a in 0..<b where a == parent || isMesh || draws.oneIn(6) {
        script.links.append(drawLink(draws.oneIn(2) ? LinkPlan(a: a, b: b) : LinkPlan(a: b, b: a)))
      }
    }
  }

  private mutating func drawLink(_ plan: LinkPlan) -> LinkPlan {
    var plan = plan
    plan.latency = draws.logarithmic(in: 50...80_000)
    plan.jitter = draws.oneIn(2) ? plan.latency / 4 : draws.logarithmic(in: 1...50_000)
    if has(.slowLinks) { plan.bytesPerSecond = draws.logarithmic(in: 1_000...1_000_000) }
    if has(.losses) { plan.loss = draws.int(below: 100) }
    plan.frameBytes =
      has(.smallFrames) ? draws.logarithmic(in: 20...600) : draws.logarithmic(in: 600...64 << 10)
    // What is on its way for long comes in parts.
    plan.frameBytes = max(min(plan.frameBytes, plan.bytesPerSecond / 4), 20)
    return plan
  }

  private mutating func drawPeer(_ number: Int) {
    var plan = PeerPlan()
    plan.isBig = has(.bigPeers) && draws.oneIn(3)
    if has(.clocks) {
      plan.clockOffset = [0, 0, 5_000, -5_000, 86_400_000, -86_400_000, 315_360_000_000][draws.int(below: 7)]
      plan.clockDrift = Int64(draws.int(in: -1_000...1_000))
    }
    let isForwarding = script.links.filter { $0.a == number || $0.b == number }.count > 1
    plan.subscriptions = drawSubscriptions(mayChoose: !script.rules.hasFixedInterests || !isForwarding)
    if has(.scopes) { plan.scopes = drawScopes() }
    plan.compressionLevel = has(.scopes) || !has(.compression) ? 0 : draws.pick([1, 1, 6, 9])
    plan.slowness = draws.logarithmic(in: 1...5_000)
    if has(.silence) { plan.silence = draws.logarithmic(in: 2_000...30_000) }
    if has(.tuning) {
      plan.tuning = 1 + draws.int(below: 1 << 30)
      plan.liveQueueBytes = draws.logarithmic(in: 500...1 << 20)
      plan.windowBytes = draws.logarithmic(in: 1...32 << 10)
    }
    if has(.observers) { plan.observed = (0..<draws.int(in: 1...2)).map { _ in draws.int(below: 4) } }
    script.peers[number] = plan
  }

  private mutating func drawSubscriptions(mayChoose: Bool) -> [SubscriptionPlan] {
    guard mayChoose, has(.predicates) else {
      return (0..<script.rules.collections).map { SubscriptionPlan($0, .all) }
    }
    var plans: [SubscriptionPlan] = []
    for collection in 0..<script.rules.collections where !draws.oneIn(5) {
      plans.append(SubscriptionPlan(collection, draws.pick(SubscriptionPlan.Form.allCases)))
      if draws.oneIn(4) {
        plans.append(SubscriptionPlan(collection, draws.pick(SubscriptionPlan.Form.allCases)))
      }
    }
    return plans
  }

  private mutating func drawScopes() -> [Int] {
    (0..<script.rules.collections).map { _ in draws.oneIn(2) ? 0 : draws.int(below: SyncScope.allCases.count)
    }
  }

  /// A peer that begins as a copy of another one.
  private mutating func addCopy() {
    let number = script.peers.count
    copy = number
    var plan = script.peers[0]
    plan.subscriptions = (0..<script.rules.collections).map { SubscriptionPlan($0, .all) }
    script.peers.append(plan)
    script.links.append(drawLink(LinkPlan(a: number, b: draws.int(below: number))))
  }

  // MARK: - What happens

  private mutating func drawEvents(_ size: Int) {
    draws = Stream(script.seed, .events)
    let count = draws.logarithmic(in: 40...1_000) * size / 100
    // Bursts, and long quiet times, so that a step of a protocol meets either the next step or a completely
    // settled world.
    let gap = draws.logarithmic(in: 500...400_000)
    var now: SimTime = 0
    let weights = drawWeights()
    for _ in 0..<max(count, 4) {
      now += SimTime(draws.oneIn(20) ? draws.int(below: 60 * gap + 1) : draws.int(below: 2 * gap + 1))
      let kind = weights[draws.index(by: weights.map(\.weight))].kind
      if let what = draw(kind) { script.events.append(ScriptEvent(at: now, what)) }
    }
    // Seldom: what rots is promised little of.
    if has(.rot), has(.jumps), !has(.copies), script.events.count > 1 {
      let collection = draws.int(below: script.rules.collections)
      script.rules.rotten = [collection]
      let place = script.events[draws.int(below: script.events.count)].at
      let peer = draws.int(below: script.peers.count)
      script.events.append(ScriptEvent(at: place, .rot(peer: peer, collection: collection)))
      script.events.sort { $0.at < $1.at }
    }
    if let copy {
      let place = script.events[draws.int(below: max(script.events.count, 1))].at
      let source = draws.int(below: copy)
      script.events.append(ScriptEvent(at: place, .clone(of: source, as: copy, unnoticed: draws.oneIn(4))))
      script.events.sort { $0.at < $1.at }
    }
  }

  /// Kinds of events.
  private enum Kind {
    case write, transaction, eviction, subscription, scope, cut, down, stall, kill, pause, jump, freeze,
      forget,
      backup, restore, index
  }

  private mutating func drawWeights() -> [(kind: Kind, weight: Int)] {
    let all: [(Kind, Feature?, Int)] = [
      (.write, nil, 60), (.transaction, .transactions, 30), (.eviction, .evictions, 8),
      (.subscription, .subscriptions, 5), (.scope, .liveScopes, has(.scopes) ? 4 : 0), (.cut, .cuts, 8),
      (.down, .cuts, 4), (.stall, .stalls, 5), (.kill, .kills, 5), (.pause, .pauses, 3), (.jump, .jumps, 3),
      (.freeze, .jumps, 2), (.forget, .forgetting, 3), (.backup, .copies, 2), (.restore, .copies, 2),
      (.index, .indexes, 1),
    ]
    return all.compactMap { kind, feature, weight in
      if let feature, !has(feature) { return nil }
      // Every weight is drawn anew, so that some seeds do little but cut, or but kill.
      return (kind, weight * draws.int(in: 1...6))
    }
  }

  private mutating func draw(_ kind: Kind) -> ScriptEvent.What? {
    let peer = draws.int(below: script.peers.count)
    let link = draws.int(below: max(script.links.count, 1))
    switch kind {
    case .write: return .write(peer: peer, edits: [drawEdit()])
    case .transaction: return .write(peer: peer, edits: drawTransaction())
    case .eviction:
      guard !draws.oneIn(3) else {
        let form = draws.pick(SubscriptionPlan.Form.allCases)
        return .evictMatching(
          peer: peer, query: SubscriptionPlan(draws.int(below: script.rules.collections), form))
      }
      return .evict(peer: peer, documents: (0..<draws.int(in: 1...3)).map { _ in drawDocument() })
    case .subscription: return .subscribe(peer: peer, to: drawSubscriptions(mayChoose: true))
    case .scope: return .scope(peer: peer, scopes: drawScopes())
    case .cut:
      let after = draws.oneIn(3) ? 0 : draws.logarithmic(in: 1...20_000)
      return .cut(
        link: link, towardB: draws.oneIn(2), after: after,
        heard: draws.oneIn(2) ? .both : draws.pick(ScriptEvent.Hearing.allCases))
    case .down: return .down(link: link, for: SimTime(draws.logarithmic(in: 1_000...20_000_000)))
    case .stall:
      return .stall(
        link: link, towardB: draws.oneIn(2), for: SimTime(draws.logarithmic(in: 1_000...40_000_000)))
    case .kill:
      return .kill(
        peer: peer, after: draws.logarithmic(in: 1...200) - 1, heard: draws.oneIn(2) ? .both : .nobody,
        downFor: SimTime(draws.logarithmic(in: 1_000...10_000_000)))
    case .pause: return .pause(peer: peer, for: SimTime(draws.logarithmic(in: 1_000...10_000_000)))
    case .jump:
      let bound = draws.logarithmic(in: 1...Int(315_360_000) * 1_000)
      return .jump(peer: peer, by: Int64(draws.oneIn(2) ? bound : -bound))
    case .freeze: return .freeze(peer: peer, for: SimTime(draws.logarithmic(in: 1_000...10_000_000)))
    case .forget: return .forget(peer: peer)
    case .backup: return .backup(peer: peer)
    case .restore: return .restore(peer: peer, inPlace: draws.oneIn(2), unnoticed: draws.oneIn(3))
    case .index: return .index(peer: peer, collection: draws.int(below: script.rules.collections))
    }
  }

  // MARK: - What is written

  private mutating func drawDocument() -> DocumentName {
    // Some documents are written far more often than others.
    let bound = draws.oneIn(2) ? min(4, script.rules.documents) : script.rules.documents
    return DocumentName(draws.int(below: script.rules.collections), draws.int(below: bound))
  }

  /// One change to each of some documents.
  private mutating func drawTransaction() -> [EditPlan] {
    if has(.alikeChanges), draws.oneIn(3) { return drawAlikeChanges() }
    var documents: Set<DocumentName> = []
    var edits: [EditPlan] = []
    for _ in 0..<draws.int(in: 2...8) {
      let edit = drawEdit()
      if documents.insert(edit.document).inserted { edits.append(edit) }
    }
    return edits
  }

  /// The same change to many documents of one collection.
  private mutating func drawAlikeChanges() -> [EditPlan] {
    let collection = draws.int(below: script.rules.collections)
    let count = min(script.rules.documents, draws.int(in: 6...24))
    let first = draws.int(in: 0...script.rules.documents - count)
    let kind = draws.oneIn(3) ? EditPlan.Kind.upsert : .set
    return (first..<first + count).map {
      EditPlan(DocumentName(collection, $0), kind, draws.int(in: 1...12))
    }
  }

  private mutating func drawEdit() -> EditPlan {
    let document = drawDocument()
    let kinds: [(EditPlan.Kind, Feature?, Int)] = [
      (.upsert, nil, 10), (.set, nil, 6), (.removeField, nil, 2), (.insertIfAbsent, nil, 1),
      (.nested, nil, 3),
      (.increment, .counters, 6), (.restart, .counters, 1), (.insertDefault, .defaults, 3),
      (.delete, .deletions, 6), (.changeType, .types, 3), (.replaceMap, .types, 1), (.pad, .pads, 2),
    ]
    let present = kinds.filter { $0.1.map(has) ?? true }
    var kind = present[draws.index(by: present.map(\.2))].0
    // What keeps marks is never deleted.
    if kind == .delete || kind == .pad && has(.limits), !document.isErasable { kind = .set }
    let value = kind == .pad ? draws.logarithmic(in: 10...6_000) : draws.int(in: 1...12)
    return EditPlan(document, kind, value)
  }
}
