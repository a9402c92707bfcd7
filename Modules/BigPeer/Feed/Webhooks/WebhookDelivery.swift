#if Server
  import CRDTCore
  import Facade
  import Foundation

  /// Events that are delivered together.
  struct WebhookDelivery: Sendable {
    /// Names the delivery: that of another attempt is the same.
    let id: String
    let body: [UInt8]
    /// Where the webhook stands once it is acknowledged.
    let position: FeedPosition

    /// Events, and bytes of them, that come together.
    private enum Limit {
      static let events = 128
      static let bytes = 256 << 10
    }

    /// Divides a batch: each delivery has as many events as fit, and at least one.
    static func deliveries(
      of batch: FeedBatch, for webhook: Webhook, json: (FeedEvent) -> [UInt8]
    ) -> [WebhookDelivery] {
      var deliveries: [WebhookDelivery] = []
      var events: [[UInt8]] = []
      var byteCount = 0
      for (index, item) in batch.items.enumerated() {
        let event = json(item.event)
        if events.count == Limit.events || !events.isEmpty && byteCount + event.count > Limit.bytes {
          deliveries.append(WebhookDelivery(events, webhook, batch.items[index - 1].position, index))
          (events, byteCount) = ([], 0)
        }
        events.append(event)
        byteCount += event.count
      }
      if !events.isEmpty {
        deliveries.append(WebhookDelivery(events, webhook, batch.position, batch.items.count))
      }
      return deliveries
    }

    private init(_ events: [[UInt8]], _ webhook: Webhook, _ position: FeedPosition, _ end: Int) {
      // Positions within one commit are the same: the number of the last event tells deliveries apart.
      id = "\(position.token)-\(end)"
      self.position = position
      var body = Array(#"{"webhookId":"\#(webhook.id)","deliveryId":"\#(id)","events":["#.utf8)
      for (index, event) in events.enumerated() {
        if index > 0 { body.append(UInt8(ascii: ",")) }
        body += event
      }
      body += Array("]}".utf8)
      self.body = body
    }

    /// What stands in the head of a request.
    func headers(_ webhook: Webhook, at time: Date) -> [(name: String, value: String)] {
      [
        ("Dunlin-Webhook-Id", webhook.id), ("Dunlin-Delivery-Id", id),
        (WebhookSignature.header, WebhookSignature.value(body, secret: webhook.secret, at: time)),
      ]
    }
  }
#endif
